// Losses on the similarity matrix alone: the mean over draws has moved inside. What a cluster adds to j is the
// sum over its items of h(how similar the item is to those of the cluster together), h(x) = cell(x) / x.
#pragma once
#include <memory>
#include <tuple>

#include "loss.hpp"
#include "maths.hpp"
#include "objective.hpp"
#include "search_kernels.hpp"
#include "settings.hpp"

namespace partita {

// The similarity of items, and how many items each of them stands for.
struct Likeness {
    std::vector<float> like;  // n x n
    std::vector<int> weight;
    double t = 0;  // as the loss has it
    std::size_t size() const { return weight.size(); }
    const float* row(std::size_t i) const { return &like[i * size()]; }
};

// Whether h is linear: then the sums are over pairs of items. Else h must be the logarithm to base 2.
inline bool is_on_pairs(const Loss& loss) {
    auto h = [&](std::size_t x) { return loss.cell[x] / static_cast<double>(x); };
    for (std::size_t x = 1; x + 2 < loss.cell.size(); ++x)
        if (std::abs(h(x) - 2 * h(x + 1) + h(x + 2)) > 1e-9 * std::abs(h(x + 2))) return false;
    return true;
}

// What both kinds have: sizes of clusters, slopes, limits.
class Columns {
 public:
    Columns(std::shared_ptr<const Loss> loss, double t, Limits limits)
        : loss_(std::move(loss)), t_(t), limits_(limits) {}

    const Labels& labels() const { return label_; }
    std::size_t n_steps() const { return static_cast<std::size_t>(loss_->n) + size_.size(); }
    double value() const { return loss_->at(t_, e_, j_).value; }
    Limits limits() const { return limits_; }
    int n_missing() const { return std::max(0, limits_.least - used_); }
    void settle() { slope_ = loss_->at(t_, e_, j_); }

 protected:
    void resize(int k, int by) {
        const int now = size_[k] + by;
        e_ += loss_->cell[now] - loss_->cell[size_[k]];
        used_ += (now > 0) - (size_[k] > 0);
        size_[k] = now;
    }
    double e_after(int u, int from, int to) const {
        const auto& cell = loss_->cell;
        return e_ + cell[size_[from] - u] - cell[size_[from]] + cell[size_[to] + u] - cell[size_[to]];
    }
    int first_empty() const { return static_cast<int>(std::find(size_.begin(), size_.end(), 0) - size_.begin()); }
    int in_use() const {  // columns up to the last that is
        int last = static_cast<int>(size_.size());
        while (last > 0 && size_[last - 1] == 0) --last;
        return last;
    }

    // The best column, given what the item adds to j in each, and where it is.
    template <class Gain>
    Proposal best_of(int own, int u, int width, Gain gain) const {
        const auto& cell = loss_->cell;
        const bool is_alone = own >= 0 && size_[own] == u;
        if (is_alone && used_ <= limits_.least) return {-1, true};
        auto worth = [&](double j, int before) {
            return -slope_.by_j * j - slope_.by_e * (cell[before + u] - cell[before]);
        };
        double stay = -1e300, most = stay;
        if (own >= 0) {
            stay = worth(gain(own), size_[own] - u);
            most = stay + kLeast * (std::abs(slope_.by_j * gain(own)) + std::abs(slope_.by_e) * cell[size_[own]]);
        }
        bool may_open = used_ < limits_.most && !is_alone;
        int best = -1;
        for (int k = 0; k < width; ++k) {
            if (k == own || (size_[k] == 0 && !std::exchange(may_open, false))) continue;
            const double here = worth(gain(k), size_[k]);
            if (here > most) most = here, best = k;
        }
        return {best, loss_->is_linear()};
    }

    std::shared_ptr<const Loss> loss_;
    double t_;
    Limits limits_;
    Labels label_;
    std::vector<int> size_;
    Loss::At slope_{};
    double e_ = 0, j_ = 0;
    int used_ = 0;
};

// h is linear, as for Binder and PEAR: sums over pairs, so that blocks of items are as items.
class OnPairs : public Columns {
 public:
    OnPairs(const std::shared_ptr<const Likeness>& items, std::shared_ptr<const Loss> loss, Limits limits)
        : Columns(std::move(loss), items->t, limits), weight_(items->weight), like_(items->like) {
        const auto& cell = loss_->cell;
        by_pair_ = cell.size() > 2 ? cell[2] / 2 - cell[1] : 0;
        constant_ = loss_->n * (cell[1] - by_pair_);
        const std::size_t n = weight_.size();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t y = 0; y < n; ++y) like_[i * n + y] *= static_cast<float>(double(weight_[i]) * weight_[y]);
    }

    int size() const { return static_cast<int>(weight_.size()); }
    double like(int i, int y) const { return like_[std::size_t(i) * size() + y] / (double(weight_[i]) * weight_[y]); }

    void load(const Labels& labels) {
        const std::size_t n = size();
        auto sorted = labels;
        sort_by_size(sorted);
        clear(count_labels(sorted));
        label_ = sorted;
        for (std::size_t i = 0; i < n; ++i)
            if (label_[i] >= 0) resize(label_[i], weight_[i]);
        for (std::size_t i = 0; i < n; ++i) {
            double* to = &sums_[i * stride_];
            const float* row = &like_[i * n];
            for (std::size_t y = 0; y < n; ++y)
                if (label_[y] >= 0) to[label_[y]] += row[y];
            if (label_[i] >= 0) j_ += by_pair_ * to[label_[i]];
        }
        settle();
    }

    void clear(int n_columns = 0) {
        label_.assign(size(), -1);
        stride_ = n_columns + 2;
        sums_.assign(size() * stride_, 0);
        size_.assign(stride_, 0);
        e_ = 0, j_ = constant_, used_ = 0;
    }

    Proposal propose(int i) {
        const int own = label_[i];
        if (used_ == static_cast<int>(stride_)) widen();
        const double* sums = &sums_[i * stride_];
        const double self = own >= 0 ? like_[std::size_t(i) * size() + i] : 0, twice = 2 * by_pair_;
        const int last = in_use();
        return best_of(own, weight_[i], last + (used_ == last),
                       [&](int k) { return twice * (sums[k] - (k == own ? self : 0)); });
    }

    double change(int i, int to) const {
        const int from = label_[i];
        const double* sums = &sums_[i * stride_];
        const double j = j_ + 2 * by_pair_ * (sums[to] - sums[from] + like_[std::size_t(i) * size() + i]);
        return loss_->at(t_, e_after(weight_[i], from, to), j).value - value();
    }

    void move(int i, int to) {
        if (label_[i] >= 0) shift(i, label_[i], -1);
        if (to >= 0) shift(i, to, +1);
        label_[i] = to;
    }

    int empty_column() {
        if (used_ == static_cast<int>(stride_)) widen();
        return first_empty();
    }

    // Become the same problem with blocks of the other's blocks. To be loaded next.
    void group(const OnPairs& fine, const Labels& groups, int n_groups) {
        const std::size_t n = fine.size();
        const Grouped members(groups, n_groups);
        std::vector<float> row(n);
        like_.assign(std::size_t(n_groups) * n_groups, 0);
        weight_.assign(n_groups, 0);
        for (int g = 0; g < n_groups; ++g) {
            row.assign(n, 0);
            for (int a = members.first[g]; a < members.first[g + 1]; ++a) {
                const int i = members.items[a];
                weight_[g] += fine.weight_[i];
                search_kernels().add(&fine.like_[i * n], 1, n, row.data());
            }
            for (std::size_t y = 0; y < n; ++y) like_[std::size_t(g) * n_groups + groups[y]] += row[y];
        }
    }

 private:
    void shift(int i, int k, int sign) {
        const std::size_t n = size();
        const float* row = &like_[i * n];
        j_ += sign * by_pair_ * (2 * sums_[i * stride_ + k] + sign * row[i]);
        for (std::size_t y = 0; y < n; ++y) sums_[y * stride_ + k] += sign * row[y];
        resize(k, sign * weight_[i]);
    }

    void widen() {
        const std::size_t wide = 2 * stride_;
        std::vector<double> sums(size() * wide);
        for (int i = 0; i < size(); ++i) std::copy_n(&sums_[i * stride_], stride_, &sums[i * wide]);
        sums_.swap(sums);
        stride_ = wide, size_.resize(wide);
    }

    std::vector<int> weight_;
    std::vector<float> like_;   // summed over the items of blocks
    std::vector<double> sums_;  // [item][column]: how similar the item is to those of the column together
    double by_pair_ = 0, constant_ = 0;
    std::size_t stride_ = 0;
};
static_assert(Objective<OnPairs>);

// h is the logarithm, as for the lower bound of VI: a block's effect on every item of a cluster counts.
class OnLogs : public Columns {
 public:
    OnLogs(std::shared_ptr<const Likeness> items, std::shared_ptr<const Loss> loss, Limits limits)
        : Columns(std::move(loss), items->t, limits), items_(std::move(items)), n_(static_cast<int>(items_->size())),
          block_of_(n_), inverse_(n_) {
        std::iota(block_of_.begin(), block_of_.end(), 0);
        are_equal_ = std::all_of(items_->weight.begin(), items_->weight.end(), [](int w) { return w == 1; });
        set_blocks(n_);
    }

    int size() const { return static_cast<int>(weight_.size()); }
    double like(int i, int y) const {
        return items_->row(members_.items[members_.first[i]])[members_.items[members_.first[y]]];
    }

    void load(const Labels& labels) {
        auto sorted = labels;
        sort_by_size(sorted);
        clear(count_labels(sorted));
        label_ = sorted;
        for (int b = 0; b < size(); ++b)
            if (label_[b] >= 0) shift(b, label_[b], +1), resize(label_[b], weight_[b]);
        for (int y = 0; y < n_; ++y)
            if (label_[block_of_[y]] >= 0) refresh(y);
        settle();
    }

    void clear(int n_columns = 0) {
        label_.assign(size(), -1);
        size_.assign(n_columns + 2, 0);
        sums_.assign(size_.size() * n_, 0);
        std::fill(inverse_.begin(), inverse_.end(), 0.0);
        e_ = j_ = 0, used_ = 0;
    }

    Proposal propose(int b) {
        const int own = label_[b];
        if (used_ == static_cast<int>(size_.size())) widen();
        const int last = in_use(), width = last + (used_ == last);
        bring_gains(b, own, width);
        return best_of(own, weight_[b], width, [&](int k) { return gain_[k]; });
    }

    double change(int b, int to) const {
        const int from = label_[b];
        return loss_->at(t_, e_after(weight_[b], from, to), j_ + gain_[to] - gain_[from]).value - value();
    }

    void move(int b, int to) {
        const int from = label_[b];
        if (from >= 0) {
            label_[b] = -1;
            shift(b, from, -1);
            resize(from, -weight_[b]);
            for (int y = 0; y < n_; ++y)
                if (label_[block_of_[y]] == from || block_of_[y] == b) refresh(y);
        }
        if (to >= 0) {
            label_[b] = to;
            shift(b, to, +1);
            resize(to, weight_[b]);
            for (int y = 0; y < n_; ++y)
                if (label_[block_of_[y]] == to) refresh(y);
        }
    }

    int empty_column() {
        if (used_ == static_cast<int>(size_.size())) widen();
        return first_empty();
    }

    // Become the same problem with blocks of the other's blocks. To be loaded next.
    void group(const OnLogs& fine, const Labels& groups, int n_groups) {
        for (int y = 0; y < n_; ++y) block_of_[y] = groups[fine.block_of_[y]];
        set_blocks(n_groups);
    }

 private:
    static constexpr int kChunk = 256;  // factors, each at most as large as a block, before a logarithm is taken

    // rows_: how similar every item is to those of each block together
    void set_blocks(int n_blocks) {
        weight_.assign(n_blocks, 0);
        members_ = Grouped(block_of_, n_blocks);
        is_single_ = n_blocks == n_ && are_equal_;
        if (!is_single_) rows_.assign(std::size_t(n_blocks) * n_, 0);
        for (int y = 0; y < n_; ++y) {
            weight_[block_of_[y]] += items_->weight[y];
            if (!is_single_)
                search_kernels().add(items_->row(y), static_cast<float>(items_->weight[y]), n_,
                                     &rows_[std::size_t(block_of_[y]) * n_]);
        }
    }
    const float* row(int b) const { return is_single_ ? items_->row(members_.items[b]) : &rows_[std::size_t(b) * n_]; }

    // gain_[k]: what the block adds to j in a column, or where it is.
    void bring_gains(int b, int own, int width) {
        const float* more = row(b);
        gain_.assign(width, 0);
        product_.assign(width, 1);
        for (int from = 0; from < n_; from += kChunk) {
            for (int y = from; y < std::min(from + kChunk, n_); ++y) {
                const int k = label_[block_of_[y]];
                if (k < 0 || block_of_[y] == b) continue;
                const double factor = k == own ? 1 / (1 - more[y] * inverse_[y]) : 1 + more[y] * inverse_[y];
                if (items_->weight[y] == 1) product_[k] *= factor;
                else gain_[k] += items_->weight[y] * log2(factor);
            }
            for (int k = 0; k < width; ++k)
                if (product_[k] != 1) gain_[k] += log2(product_[k]), product_[k] = 1;
        }
        for (int a = members_.first[b]; a < members_.first[b + 1]; ++a) {
            const int y = members_.items[a];
            for (int k = 0; k < width; ++k)
                gain_[k] += items_->weight[y] * log2(sums_[std::size_t(k) * n_ + y] + (k == own ? 0.0 : more[y]));
        }
    }

    void refresh(int y) {
        const int k = label_[block_of_[y]];
        const double now = k < 0 ? 0 : 1 / sums_[std::size_t(k) * n_ + y];
        if (inverse_[y] > 0) j_ += items_->weight[y] * log2(inverse_[y]);
        if (now > 0) j_ -= items_->weight[y] * log2(now);
        inverse_[y] = now;
    }

    void shift(int b, int k, int sign) {
        const float* more = row(b);
        double* to = &sums_[std::size_t(k) * n_];
        for (int y = 0; y < n_; ++y) to[y] += sign * more[y];
    }

    void widen() {
        size_.resize(2 * size_.size());
        sums_.resize(size_.size() * n_);
    }

    std::shared_ptr<const Likeness> items_;
    int n_;
    Labels block_of_;
    std::vector<double> inverse_;  // of how similar each item is to those of its cluster together
    std::vector<float> rows_;
    std::vector<int> weight_;
    Grouped members_{Labels{}, 0};
    std::vector<double> sums_, gain_, product_;  // sums_: [column][item]
    bool is_single_ = true, are_equal_ = true;
};
static_assert(Objective<OnLogs>);

}  // namespace partita
