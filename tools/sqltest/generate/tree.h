// Statements as trees of texts: a generator makes them, and a shrinker takes them apart.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::sqltest {

// A text with other trees in it. A sequence has a text before each child and one behind the last; a list has
// one text before, one between and one behind its children.
struct Tree {
  // A type's name for an expression. A tree may stand in the place of another one of its kind.
  std::string kind;
  std::vector<std::string> texts;
  std::vector<Tree> children;
  std::string simplest;   // may stand in its place; empty: nothing
  std::size_t least = 1;  // a list keeps as many children
  bool is_list = false;
  bool optional = false;           // may be left out
  bool needs_parentheses = false;  // where it stands inside another expression
};

// A text without children.
Tree leaf(std::string text, std::string kind = {}, std::string simplest = {});
// `format` has {} where the children stand.
Tree sequence(std::string_view format, std::vector<Tree> children, std::string kind = {});
Tree list_of(std::string before, std::string between, std::string behind, std::vector<Tree> children,
             std::size_t least = 1);
Tree optional(Tree tree);

std::string text_of(const Tree& tree);
// The literals in it that are in quotes become parameters: $1, $2, ... The others stay.
std::string text_with_parameters(const Tree& tree, std::vector<std::string>& parameters);
std::size_t count_of(const Tree& tree);

// The tree at that place, counted from 0 before its children. Null: there are not as many.
Tree* tree_at(Tree& tree, std::size_t place);

// Takes away what can go while `still_wanted` says yes, asking at most so many times.
Tree shrink(Tree tree, const std::function<bool(const Tree&)>& still_wanted, std::size_t attempts);

}  // namespace namdb::sqltest
