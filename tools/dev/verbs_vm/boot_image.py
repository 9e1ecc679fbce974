"""The image that QEMU boots: Debian's kernel, uncompressed, and an initramfs of busybox and the modules that are needed."""
import io
import lzma
import re
import stat

from .packages import Unavailable

# With all that they depend on. rxe asks for crc32 by the name of the algorithm, which no dependency tells.
MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "veth", "macvlan", "crc32_generic",
           "crc32_pclmul", "rdma_rxe", "ib_uverbs", "rdma_ucm", "sch_netem")
XZ = b"\xfd7zXZ\0"


def uncompress_kernel(kernel_folder, target):
    """Cuts the kernel proper out of the bzImage: booting it directly saves seconds of emulated unpacking."""
    images = sorted((kernel_folder / "boot").glob("vmlinuz-*"))
    if not images:
        raise Unavailable("the kernel's package has no vmlinuz")
    image = images[-1].read_bytes()
    for match in re.finditer(re.escape(XZ), image):
        try:
            kernel = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[match.start():])
        except lzma.LZMAError:
            continue
        if kernel.startswith(b"\x7fELF"):
            target.write_bytes(kernel)
            return
    raise Unavailable("the kernel's image is not compressed with xz")


def module_files(kernel_folder):
    """The modules' files in an order in which they can be inserted, from what each says that it depends on."""
    # .modinfo spells names with underscores, files with either.
    files = {path.stem.replace("-", "_"): path for path in kernel_folder.glob("usr/lib/modules/*/kernel/**/*.ko")}
    order = []

    def add(name):
        path = files.get(name)
        if path is None:
            raise Unavailable(f"the kernel has no module {name}")
        if path in order:
            return
        found = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for dependency in (found.group(1).decode() if found else "").split(","):
            if dependency:
                add(dependency.replace("-", "_"))
        order.append(path)

    for name in MODULES:
        add(name)
    return order


class Archive:
    """A cpio archive in the form that the kernel unpacks (newc)."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.count = 0

    def add(self, name, mode, content=b""):
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        self.bytes.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        self.pad()
        self.bytes.write(content)
        self.pad()

    def pad(self):
        self.bytes.write(b"\0" * (-self.bytes.tell() % 4))

    def finish(self):
        self.add("TRAILER!!!", 0)
        return self.bytes.getvalue()


def build_initramfs(kernel_folder, busybox, init, target):
    archive = Archive()
    for folder in ("bin", "dev", "proc", "sys", "modules", "layers", "merged"):
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes())
    archive.add("init", stat.S_IFREG | 0o755, init.read_bytes())
    for number, path in enumerate(module_files(kernel_folder)):
        archive.add(f"modules/{number:03}-{path.name}", stat.S_IFREG | 0o644, path.read_bytes())
    target.write_bytes(archive.finish())
