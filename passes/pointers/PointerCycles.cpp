//===- PointerCycles.cpp - joins pointers that copy from each other ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins nodes of PointerOrigins that copy from each other in a cycle (loops, recursion, containers
// that pass iterators around). In the end they have the same set. As one node they propagate a set
// once instead of round after round (Hardekopf and Lin, PLDI 2007). A cycle with a shift by some
// bytes is a walk that reaches every field. The walk goes to the object as a whole at once, instead
// of creating one field after the other (Pearce, Kelly and Hankin, TOPLAS 2007).
//===----------------------------------------------------------------------===//
#include "passes/pointers/PointerOrigins.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;

namespace smalloc {
namespace {

/// Budget steps per node between two searches for cycles. A search visits each node and edge once.
constexpr unsigned StepsANode = 8;

} // namespace

/// Joins all nodes of \p Cycle into its first.
void PointerOrigins::join(ArrayRef<NodeId> Cycle) {
  const NodeId Into = Cycle.front();
  Node &One = Nodes[Into];
  LocationSet &Points = PointsTo[Into];
  LocationSet Seen;
  for (NodeId N : Cycle.drop_front()) {
    Node &Other = Nodes[N];
    Points.insert(PointsTo[N], Seen);
    One.Copies.append(Other.Copies);
    One.Loads.append(Other.Loads);
    One.Stores.append(Other.Stores);
    One.Shifts.append(Other.Shifts);
    One.NamedLoads.append(Other.NamedLoads);
    Other = Node();
    PointsTo[N] = LocationSet();
    Same[N] = Into;
  }
  auto Unique = [](auto &List) {
    std::sort(List.begin(), List.end()); // llvm::sort would call qsort here
    List.erase(llvm::unique(List), List.end());
  };
  for (SmallVectorImpl<NodeId> *List :
       std::initializer_list<SmallVectorImpl<NodeId> *>{&One.Copies, &One.Loads, &One.Stores}) {
    for (NodeId &N : *List)
      N = representative(N);
    Unique(*List);
  }
  llvm::erase(One.Copies, Into);
  for (auto &[To, By] : One.Shifts)
    if ((To = representative(To)) == Into)
      By = By == 0 ? 0 : AnyOffset;
  llvm::erase(One.Shifts, std::pair<NodeId, int64_t>(Into, 0));
  Unique(One.Shifts);
  Unique(One.NamedLoads);
  // Each edge has received only its own node's set, so the joined set is pending for all.
  One.Pending = Points;
  One.Passed = false;
  if (!Points.empty())
    queue(Into);
}

/// Tarjan's search for cycles, without recursion, over copies and shifts. Also ranks the nodes.
struct PointerOrigins::CycleSearch {
  struct State {
    unsigned Number = 0, Low = 0; ///< 0: not visited yet
    bool Open = false;
  };

  PointerOrigins &Of;
  std::vector<State> States;
  unsigned Number = 0, Done = 0;
  SmallVector<std::pair<NodeId, size_t>, 32> Path; ///< nodes, and how many of their edges are done
  SmallVector<NodeId, 32> Open, Cycles;            ///< Cycles: one after another, up to Ends
  SmallVector<size_t, 16> Ends;

  explicit CycleSearch(PointerOrigins &Of) : Of(Of), States(Of.Nodes.size()) {
    Of.Ranks.assign(Of.Nodes.size(), 0);
  }
  void enter(NodeId N);
  void step();
  void close(NodeId N);
};

void PointerOrigins::CycleSearch::enter(NodeId N) {
  const Node &Here = Of.Nodes[N];
  if (Here.Copies.empty() && Here.Shifts.empty()) { // done without a visit
    States[N] = {++Number, Number, false};
    Of.Ranks[N] = ++Done;
    return;
  }
  States[N] = {++Number, Number, true};
  Open.push_back(N);
  Path.push_back({N, 0});
}

/// Follows the next edge of the path's last node, or leaves the node after its last edge.
void PointerOrigins::CycleSearch::step() {
  auto &[N, Edge] = Path.back();
  const Node &Here = Of.Nodes[N];
  State &At = States[N];
  if (Edge < Here.Copies.size() + Here.Shifts.size()) {
    const size_t I = Edge++;
    const NodeId To = Of.representative(
        I < Here.Copies.size() ? Here.Copies[I] : Here.Shifts[I - Here.Copies.size()].first);
    if (!States[To].Number)
      enter(To);
    else if (States[To].Open)
      At.Low = std::min(At.Low, States[To].Number);
    return;
  }
  if (At.Low == At.Number)
    close(N);
  const unsigned Low = At.Low;
  Path.pop_back();
  if (!Path.empty())
    States[Path.back().first].Low = std::min(States[Path.back().first].Low, Low);
}

/// Moves the component that was entered at \p N from Open to Cycles unless it is \p N alone.
void PointerOrigins::CycleSearch::close(NodeId N) {
  ++Done;
  const size_t Begin = Cycles.size();
  do {
    Cycles.push_back(Open.pop_back_val());
    States[Cycles.back()].Open = false;
    Of.Ranks[Cycles.back()] = Done;
  } while (Cycles.back() != N);
  if (Cycles.size() == Begin + 1)
    Cycles.pop_back();
  else
    Ends.push_back(Cycles.size());
}

/// Joins each cycle. Also ranks the nodes for the worklist and sets when the next search is due.
void PointerOrigins::collapseCycles() {
  CycleSearch Search(*this);
  for (NodeId Root = 0; Root < Nodes.size(); ++Root) {
    if (!Search.States[Root].Number && Same[Root] == Root)
      Search.enter(Root);
    while (!Search.Path.empty())
      Search.step();
  }
  size_t Begin = 0;
  for (size_t End : Search.Ends) {
    join(ArrayRef(Search.Cycles).slice(Begin, End - Begin));
    Begin = End;
  }
  decltype(Worklist) Ranked;
  for (; !Worklist.empty(); Worklist.pop())
    Ranked.push({Ranks[Worklist.top().second], Worklist.top().second});
  Worklist = std::move(Ranked);
  const unsigned Until = static_cast<unsigned>(Nodes.size()) * StepsANode;
  NextLook = Budget > Until ? Budget - Until : 0;
}

/// True if what is known already will take more steps than the whole budget. Sets only grow: a node
/// gets at least as many places as any node that it copies from, and each edge propagates each
/// place at least once.
bool PointerOrigins::exceedsBudget() const {
  // Nodes by rank. Each node that represents itself has a rank of its own.
  std::vector<NodeId> Order(Ranks.size() + 1);
  for (NodeId N = 0; N < Ranks.size(); ++N)
    if (Same[N] == N)
      Order[Ranks[N]] = N + 1;
  std::vector<unsigned> Least(Nodes.size());
  size_t Steps = 0;
  for (NodeId Next : llvm::reverse(Order)) { // nodes that others copy from come first
    if (Next == 0)
      continue;
    const NodeId N = Next - 1;
    const Node &From = Nodes[N];
    const unsigned Places = std::max(Least[N], PointsTo[N].count());
    if (Places == 0)
      continue;
    const size_t EachPlace = From.Loads.size() + From.Stores.size() + From.Shifts.size();
    Steps += 1 + From.Copies.size() + EachPlace * Places;
    for (NodeId To : From.Copies)
      Least[representative(To)] = std::max(Least[representative(To)], Places);
    for (auto &[To, By] : From.Shifts)
      Least[representative(To)] = std::max(Least[representative(To)], 1u);
  }
  return Steps > WholeBudget;
}

} // namespace smalloc
