// What is summed over the nodes of a dendrogram, each node once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "matrix.hpp"

namespace partita {

// Node i < n is item i; node n + t is merge t. The items of node v are order[first[v]] to
// order[first[v] + size[v] - 1], its left child's before its right child's.
struct Dendrogram {
    Matrix<const std::int64_t> children;  // n - 1 rows of two nodes
    std::vector<std::int64_t> size, first, order;
    std::vector<std::int64_t> heavy, light;  // the larger child of each merge, the left one of equals; and the other
    std::vector<char> is_top;                // the root, and merges that are the light child of another

    explicit Dendrogram(Matrix<const std::int64_t> its_children)
        : children(its_children), size(2 * children.rows + 1, 1), first(size.size()), order(children.rows + 1),
          heavy(size.size()), light(size.size()), is_top(size.size(), true) {
        std::vector<char> has_parent(size.size());
        for (std::size_t node = n_items(); node < size.size(); ++node) {
            const auto left = child(node, 0), right = child(node, 1);
            const auto most = static_cast<std::int64_t>(node);
            if (left < 0 || left >= most || right < 0 || right >= most || left == right || has_parent[left] ||
                has_parent[right])
                throw std::invalid_argument("Each node of a tree but its root is the child of one later node.");
            size[node] = size[left] + size[right];
            has_parent[left] = has_parent[right] = true;
            std::tie(heavy[node], light[node]) =
                size[left] < size[right] ? std::pair(right, left) : std::pair(left, right);
            is_top[heavy[node]] = false;
        }
        for (std::size_t node = size.size() - 1; node >= n_items(); --node) {
            first[child(node, 0)] = first[node];
            first[child(node, 1)] = first[node] + size[child(node, 0)];
        }
        for (std::size_t i = 0; i < n_items(); ++i) order[first[i]] = static_cast<std::int64_t>(i);
    }

    std::size_t n_items() const { return order.size(); }
    std::int64_t child(std::size_t node, int side) const { return children(node - n_items(), side); }
    std::span<const std::int64_t> items(std::size_t node) const {
        return std::span(order).subspan(first[node], size[node]);
    }
};

// out[node] becomes the sum of cell over a draw's clusters within every node. Climbing a path of larger children, only
// the items of the smaller ones are counted, so a draw costs O(n log n). `counts` are zeros and stay so; `path` is
// room.
template <class Label>
void node_sums(const Dendrogram& tree, std::span<const Label> draw, std::span<const double> cell,
               std::vector<std::uint32_t>& counts, std::vector<std::size_t>& path, std::span<double> out) {
    const std::size_t n = tree.n_items();
    std::fill_n(out.begin(), n, cell[1]);
    for (std::size_t top = n; top < tree.size.size(); ++top) {
        if (!tree.is_top[top]) continue;
        path.clear();
        std::size_t node = top;
        for (; node >= n; node = tree.heavy[node]) path.push_back(node);
        double total = cell[1];
        counts[draw[node]] = 1;
        for (; !path.empty(); path.pop_back()) {
            for (auto i : tree.items(tree.light[path.back()])) {
                auto& count = counts[draw[i]];
                total += cell[count + 1] - cell[count];
                ++count;
            }
            out[path.back()] = total;
        }
        for (auto i : tree.items(top)) counts[draw[i]] = 0;
    }
}

}  // namespace partita
