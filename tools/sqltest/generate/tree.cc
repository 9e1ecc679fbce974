#include "tools/sqltest/generate/tree.h"

#include <utility>

namespace namdb::sqltest {
namespace {

void append_text(const Tree& tree, std::string& out) {
  const auto append_child = [&](const Tree& child) {
    if (child.needs_parentheses) out += "(";
    append_text(child, out);
    if (child.needs_parentheses) out += ")";
  };
  if (tree.is_list) {
    if (tree.children.empty()) return;
    out += tree.texts[0];
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      if (i > 0) out += tree.texts[1];
      append_child(tree.children[i]);
    }
    out += tree.texts[2];
    return;
  }
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    out += tree.texts[i];
    append_child(tree.children[i]);
  }
  out += tree.texts.back();
}

Tree* find(Tree& tree, std::size_t& place) {
  if (place == 0) return &tree;
  --place;
  for (Tree& child : tree.children) {
    if (Tree* found = find(child, place); found != nullptr) return found;
  }
  return nullptr;
}

// Trees of that kind below it, those near it first.
void collect(const Tree& tree, const std::string& kind, std::vector<const Tree*>& found) {
  for (const Tree& child : tree.children) {
    if (child.kind == kind) found.push_back(&child);
  }
  for (const Tree& child : tree.children) collect(child, kind, found);
}

// Trees that may stand in its place, the smallest first.
std::vector<Tree> simpler(const Tree& tree) {
  constexpr std::size_t kMostDescendants = 8;
  std::vector<Tree> all;
  if (tree.optional) all.push_back(leaf(""));
  if (!tree.simplest.empty() && text_of(tree) != tree.simplest) all.push_back(leaf(tree.simplest, tree.kind));
  if (tree.is_list && tree.children.size() > tree.least) {
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      Tree& shorter = all.emplace_back(tree);
      shorter.children.erase(shorter.children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (!tree.kind.empty()) {
    std::vector<const Tree*> descendants;
    collect(tree, tree.kind, descendants);
    if (descendants.size() > kMostDescendants) descendants.resize(kMostDescendants);
    for (const Tree* descendant : descendants) all.push_back(*descendant);
  }
  return all;
}

}  // namespace

Tree leaf(std::string text, std::string kind, std::string simplest) {
  Tree tree;
  tree.kind = std::move(kind);
  tree.texts.push_back(std::move(text));
  tree.simplest = std::move(simplest);
  return tree;
}

Tree sequence(std::string_view format, std::vector<Tree> children, std::string kind) {
  Tree tree;
  tree.kind = std::move(kind);
  std::size_t end = 0;
  while ((end = format.find("{}")) != std::string_view::npos) {
    tree.texts.emplace_back(format.substr(0, end));
    format.remove_prefix(end + 2);
  }
  tree.texts.emplace_back(format);
  tree.children = std::move(children);
  return tree;
}

Tree list_of(std::string before, std::string between, std::string behind, std::vector<Tree> children,
             std::size_t least) {
  Tree tree;
  tree.texts = {std::move(before), std::move(between), std::move(behind)};
  tree.children = std::move(children);
  tree.is_list = true;
  tree.least = least;
  return tree;
}

Tree optional(Tree tree) {
  tree.optional = true;
  return tree;
}

std::string text_of(const Tree& tree) {
  std::string text;
  append_text(tree, text);
  return text;
}

namespace {

// The value of 'text' or 'text'::type, and the rest behind the quote; false: it is something else.
bool split_literal(const std::string& text, std::string& value, std::string& rest) {
  if (text.size() < 2 || text.front() != '\'') return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '\'') {
      value += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '\'') {
      value += text[i++];
    } else {
      rest = text.substr(i + 1);
      return rest.empty() || rest.starts_with("::");
    }
  }
  return false;
}

void name_parameters(Tree& tree, std::vector<std::string>& parameters) {
  constexpr std::size_t kMostParameters = 20;
  for (Tree& child : tree.children) name_parameters(child, parameters);
  std::string value;
  std::string rest;
  if (tree.kind.empty() || !tree.children.empty() || parameters.size() == kMostParameters) return;
  if (!split_literal(tree.texts.front(), value, rest)) return;
  parameters.push_back(value);
  tree.texts.front() = "$" + std::to_string(parameters.size()) + rest;
}

}  // namespace

std::string text_with_parameters(const Tree& tree, std::vector<std::string>& parameters) {
  Tree named = tree;
  name_parameters(named, parameters);
  return text_of(named);
}

std::size_t count_of(const Tree& tree) {
  std::size_t count = 1;
  for (const Tree& child : tree.children) count += count_of(child);
  return count;
}

Tree* tree_at(Tree& tree, std::size_t place) {
  return find(tree, place);
}

Tree shrink(Tree tree, const std::function<bool(const Tree&)>& still_wanted, std::size_t attempts) {
  bool smaller = true;
  while (smaller && attempts > 0) {
    smaller = false;
    for (std::size_t place = 0; attempts > 0; ++place) {
      const Tree* here = tree_at(tree, place);
      if (here == nullptr) break;
      for (Tree& other : simpler(*here)) {
        if (attempts == 0) break;
        --attempts;
        Tree candidate = tree;
        *tree_at(candidate, place) = std::move(other);
        if (!still_wanted(candidate)) continue;
        tree = std::move(candidate);
        smaller = true;
        --place;  // what stands here now may be simpler yet
        break;
      }
    }
  }
  return tree;
}

}  // namespace namdb::sqltest
