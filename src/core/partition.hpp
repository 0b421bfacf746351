// Partitions as label vectors, and the little that is done to them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace partita {

using Labels = std::vector<std::int32_t>;  // -1 for an item that is in no cluster

inline int count_labels(const Labels& labels) {
    return labels.empty() ? 0 : 1 + *std::max_element(labels.begin(), labels.end());
}

// Renumber in place by first appearance; the number of clusters.
inline int canonicalise(Labels& labels) {
    Labels name(count_labels(labels), -1);
    int found = 0;
    for (auto& x : labels) {
        if (name[x] < 0) name[x] = found++;
        x = name[x];
    }
    return found;
}

// Items by group: those of group g are items[first[g]] to items[first[g + 1] - 1].
struct Grouped {
    std::vector<int> first, items;
    Grouped(const Labels& groups, int n_groups) : first(n_groups + 1), items(groups.size()) {
        for (auto g : groups) ++first[g + 1];
        std::partial_sum(first.begin(), first.end(), first.begin());
        auto at = first;
        for (std::size_t i = 0; i < groups.size(); ++i) items[at[groups[i]]++] = static_cast<int>(i);
    }
    int size() const { return static_cast<int>(first.size()) - 1; }
};

// Renumber in place by falling size; -1 stays.
inline void sort_by_size(Labels& labels) {
    std::vector<int> size(count_labels(labels)), order(size.size()), name(size.size());
    for (auto x : labels)
        if (x >= 0) ++size[x];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return size[a] > size[b]; });
    for (std::size_t k = 0; k < order.size(); ++k) name[order[k]] = static_cast<int>(k);
    for (auto& x : labels)
        if (x >= 0) x = name[x];
}

// The coarsest partition finer than both; how many clusters it has.
inline int meet(const Labels& a, const Labels& b, Labels& out) {
    const Grouped members(a, count_labels(a));
    Labels name(count_labels(b)), seen_in(name.size(), -1);
    int found = 0;
    out.resize(a.size());
    for (int g = 0; g < members.size(); ++g)
        for (int x = members.first[g]; x < members.first[g + 1]; ++x) {
            const int i = members.items[x], k = b[i];
            if (seen_in[k] != g) seen_in[k] = g, name[k] = found++;
            out[i] = name[k];
        }
    return found;
}

inline Labels meet_of(const Labels& a, const Labels& b) {
    Labels out;
    meet(a, b, out);
    return out;
}

// Labels of items, given those of the groups that the items are in.
inline Labels expand(const Labels& of_groups, const Labels& groups) {
    Labels out(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) out[i] = of_groups[groups[i]];
    return out;
}

// Labels of groups, given those of the items: the groups are within clusters.
inline Labels contract(const Labels& labels, const Labels& groups, int n_groups) {
    Labels out(n_groups);
    for (std::size_t i = 0; i < groups.size(); ++i) out[groups[i]] = labels[i];
    return out;
}

}  // namespace partita
