// Types of control.proto for headers that only name them: the generated header takes a second to compile.
#pragma once

namespace google::protobuf {
class MessageLite;
}

namespace namdb::control {

enum Method : int;
class Column;
class FinishCreateTableRequest;
class GetCatalogReply;
class HeartbeatReply;
class HeartbeatRequest;
class IndexDescriptor;
class ListSlotsReply;
class ObjectRights;
class RoleDescriptor;
class RoutineDescriptor;
class Slot;
class TableDescriptor;
class Welcome;

}  // namespace namdb::control
