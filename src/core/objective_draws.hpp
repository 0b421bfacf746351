// The expected loss against posterior draws, kept in counts of every cluster in every cluster of every draw.
#pragma once
#include <memory>
#include <span>

#include "loss.hpp"
#include "objective.hpp"
#include "search_kernels.hpp"
#include "settings.hpp"

namespace partita {

// Clusters of draws are rows, numbered through all draws.
struct DrawRows {
    std::vector<std::uint32_t> draw_of;  // each row
    std::vector<double> t, p;            // of each draw: its own sum of cell, its probability
    std::size_t n_rows() const { return draw_of.size(); }
    int size() const { return static_cast<int>(p.size()); }
};

// Items, or blocks of items that move as one, as entries (row, size): so many of the block's items are in that
// cluster of that draw. Items of weight 1 have one entry a draw, in order, and no sizes.
struct Blocks {
    std::vector<std::size_t> first;
    std::vector<std::uint32_t> rows;
    std::vector<Count> sizes;
    std::vector<int> weight;  // items in each block
    std::vector<float> like;  // size() x size(): similarities, summed over the items of both blocks
    int size() const { return static_cast<int>(weight.size()); }
    bool are_single() const { return sizes.empty(); }
};

class OnDraws {
 public:
    OnDraws(std::shared_ptr<const DrawRows> draws, std::shared_ptr<const Loss> loss,
            std::shared_ptr<const Blocks> blocks, Limits limits, const Settings& settings)
        : draws_(std::move(draws)), loss_(std::move(loss)), blocks_(std::move(blocks)), limits_(limits),
          n_looked_(settings.n_looked), j_(draws_->size()), change_(draws_->size()), slope_(draws_->size()),
          step_(loss_->cell.size()) {
        for (std::size_t x = 0; x + 1 < step_.size(); ++x)
            step_[x] = static_cast<float>(loss_->cell[x + 1] - loss_->cell[x]);
        step_.back() = step_.size() < 3 ? step_[0] : 2 * step_[step_.size() - 2] - step_[step_.size() - 3];
        for (std::size_t x = 0; x + 3 < step_.size(); ++x)
            is_concave_ &= step_[x + 2] - step_[x + 1] <= step_[x + 1] - step_[x] + float(kSingle) * step_[x + 1];
    }

    int size() const { return blocks_->size(); }
    const Labels& labels() const { return label_; }
    std::size_t n_steps() const { return draws_->size() * (1 + stride_ / kLanes); }
    Limits limits() const { return limits_; }
    int n_missing() const { return std::max(0, limits_.least - used_); }
    double like(int i, int y) const {
        return blocks_->like[std::size_t(i) * size() + y] / (double(blocks_->weight[i]) * blocks_->weight[y]);
    }

    double value() const { return value_at(e_, j_); }

    // Large clusters come first, so that small ones are ruled out together. Some draws at a time, whose counts are in
    // the cache then.
    void load(const Labels& labels) {
        label_ = labels;
        sort_by_size(label_);
        clear_columns(count_labels(label_));
        const int n_draws = draws_->size();
        for (int from = 0; blocks_->are_single() && from < n_draws; from += kLanes)
            for (int i = 0; i < size(); ++i)
                if (label_[i] >= 0) count_single(i, label_[i], +1, from, std::min(kLanes, n_draws - from));
        for (int i = 0; i < size(); ++i) {
            if (label_[i] < 0) continue;
            if (!blocks_->are_single()) count_block(i, label_[i], +1);
            resize(i, label_[i], +1);
        }
        is_settled_ = false;
        settle();
    }

    // No item in a cluster; slopes stay as they are.
    void clear() {
        clear_columns(0);
        label_.assign(size(), -1);
    }

    Proposal propose(int i) {
        const auto& cell = loss_->cell;
        const int own = label_[i], u = blocks_->weight[i], width = scored();
        const bool is_alone = own >= 0 && size_[own] == u;
        if (is_alone && used_ <= limits_.least) return {-1, true};
        const double mine = own >= 0 ? held(i, own) : 0,
                     apart = own >= 0 ? by_e_ * (cell[size_[own]] - cell[size_[own] - u]) : 0;
        const double stay = own >= 0 ? mine - apart : kNever, scale = std::abs(mine) + std::abs(apart);
        int best = -1;
        double most = stay;
        auto consider = [&](int k, double gain) {
            gain -= by_e_ * (cell[size_[k] + u] - cell[size_[k]]);
            if (gain > most) most = gain, best = k;
        };
        bring_bounds(i, width);
        hide_columns(own, width, used_ < limits_.most && !is_alone);
        for (int looked = 0; looked < n_looked_; ++looked) {
            const auto k = static_cast<int>(std::max_element(bound_.begin(), bound_.end()) - bound_.begin());
            if (bound_[k] <= most) break;
            if (blocks_->are_single()) {
                consider_lanes(i, k / kLanes * kLanes, consider);
            } else {
                bound_[k] = kNever;
                consider(k, gain(i, k));
            }
        }
        if (best < 0 && own < 0) best = used_ < limits_.most ? empty_column() : largest();
        return {best, loss_->is_linear() && most - stay > kSingle * scale};
    }

    double change(int i, int to) {
        const auto& cell = loss_->cell;
        const int from = label_[i], u = blocks_->weight[i];
        std::copy(j_.begin(), j_.end(), change_.begin());
        for_entries(i, [&](int m, std::uint32_t row, Count c) {
            const Count a = counts_[at(row, from)], b = counts_[at(row, to)];
            change_[m] += cell[a - c] - cell[a] + cell[b + c] - cell[b];
        });
        if (value_ < 0) value_ = value();
        const double more_e = cell[size_[from] - u] - cell[size_[from]] + cell[size_[to] + u] - cell[size_[to]];
        return value_at(e_ + more_e, change_) - value_;
    }

    void move(int i, int to) {
        if (label_[i] >= 0) shift(i, label_[i], -1);
        if (to >= 0) shift(i, to, +1);
        label_[i] = to, value_ = -1;
    }

    int empty_column() {
        scored();
        return static_cast<int>(std::find(size_.begin(), size_.end(), 0) - size_.begin());
    }

    void settle() {
        if (is_settled_ && loss_->is_linear()) return;
        bring_slopes();
        is_settled_ = true;
    }

    // Become the same problem with blocks of the other's blocks. To be loaded next.
    void group(const OnDraws& fine, const Labels& groups, int n_groups) {
        const Grouped members(groups, n_groups);
        auto blocks = std::make_shared<Blocks>();
        mark_.resize(draws_->n_rows());
        blocks->first.push_back(0);
        std::size_t found = 0;
        blocks->rows.resize(fine.blocks_->rows.size());
        for (int g = 0; g < n_groups; ++g) {
            int total = 0;
            auto *mark = mark_.data(), *out = blocks->rows.data();
            for (int a = members.first[g]; a < members.first[g + 1]; ++a) {
                total += fine.blocks_->weight[members.items[a]];
                fine.for_entries(members.items[a], [&](int, std::uint32_t row, Count c) {
                    if (mark[row] == 0) out[found++] = row;
                    mark[row] += c;
                });
            }
            for (auto x = blocks->first.back(); x < found; ++x) blocks->sizes.push_back(std::exchange(mark[out[x]], 0));
            blocks->weight.push_back(total);
            blocks->first.push_back(found);
        }
        blocks->rows.resize(found);
        group_likes(*fine.blocks_, groups, members, *blocks);
        blocks_ = std::move(blocks);
    }

 private:
    static constexpr int kLanes = 16;
    static constexpr double kNever = -1e300;  // a bound that rules a column out
    static std::size_t round_up(std::size_t k) { return (k + kLanes - 1) / kLanes * kLanes; }
    std::size_t at(std::uint32_t row, int k) const { return row * stride_ + k; }

    double value_at(double e, const std::vector<double>& j) const {
        return search_kernels().mean_loss(loss_->at_size(e), draws_->t.data(), draws_->p.data(), j.data(),
                                          draws_->size());
    }

    template <class Visit>
    void for_entries(int i, Visit visit) const {  // visit(draw, row, size)
        const auto begin = blocks_->first[i], end = blocks_->first[i + 1];
        if (blocks_->are_single())
            for (auto x = begin; x < end; ++x) visit(static_cast<int>(x - begin), blocks_->rows[x], Count{1});
        else
            for (auto x = begin; x < end; ++x)
                visit(draws_->draw_of[blocks_->rows[x]], blocks_->rows[x], blocks_->sizes[x]);
    }

    void bring_slopes() {
        by_e_ = total_slope_ = 0;
        double most = 0;
        for (int m = 0; m < draws_->size(); ++m) {
            const auto at = loss_->at(draws_->t[m], e_, j_[m]);
            slope_[m] = static_cast<float>(-draws_->p[m] * at.by_j);
            by_e_ += draws_->p[m] * at.by_e;
            total_slope_ -= draws_->p[m] * at.by_j;
            most = std::max(most, -at.by_j);
        }
        reach_ = total_slope_ > 0 ? static_cast<float>(most / total_slope_) : 1;
    }

    // bound_[k]: at least what the item would gain in column k. What one more item adds to cell is concave
    // in how many are there, so its mean over draws is at most that at the mean of how many are there, which is
    // how similar the item is to those of the column together (Jensen). Where it is not, only the order is right.
    void bring_bounds(int i, int width) {
        const int u = blocks_->weight[i], n = size();
        bound_.assign(width, -kNever);
        if (!is_concave_ && blocks_->are_single()) return;
        const float within = blocks_->like[std::size_t(i) * n + i] - u;
        const JoinBound of{step_.data(), loss_->cell.data(), static_cast<int>(loss_->n),       u,
                           within,       reach_ / u,         total_slope_ * u * (1 + kSingle), by_e_};
        search_kernels().bound_joins(of, sums_.data() + i, n, size_.data(), width, bound_.data());
    }

    // What the item would gain in columns that lie side by side, which are ruled out then.
    template <class Consider>
    void consider_lanes(int i, int from, Consider consider) {
        float gains[kLanes];
        search_kernels().sum_rows(steps_.data() + from, stride_, blocks_->rows.data() + blocks_->first[i],
                                  slope_.data(), draws_->size(), gains);
        for (int k = 0; k < kLanes; ++k)
            if (std::exchange(bound_[from + k], kNever) > kNever) consider(from + k, gains[k]);
    }

    // Leave out where the item is, and of the empty columns all but the first, or all if there is no leave for one.
    void hide_columns(int own, int width, bool may_open) {
        if (own >= 0) bound_[own] = kNever;
        for (int k = 0; k < width; ++k)
            if (size_[k] == 0 && !std::exchange(may_open, false)) bound_[k] = kNever;
    }

    // What the item would add to j in a column, draws weighted by their slopes.
    double gain(int i, int k) const {
        const auto& cell = loss_->cell;
        double sum = 0;
        for_entries(i, [&](int m, std::uint32_t row, Count c) {
            const Count now = counts_[at(row, k)];
            sum += slope_[m] * (cell[now + c] - cell[now]);
        });
        return sum;
    }

    // What the item adds to j where it is.
    double held(int i, int own) const {
        if (blocks_->are_single())
            return search_kernels().sum_own(counts_.data() + own, stride_, blocks_->rows.data() + blocks_->first[i],
                                            slope_.data(), draws_->size(), step_.data());
        const auto& cell = loss_->cell;
        double sum = 0;
        for_entries(i, [&](int m, std::uint32_t row, Count c) {
            const Count now = counts_[at(row, own)];
            sum += slope_[m] * (cell[now] - cell[now - c]);
        });
        return sum;
    }

    static void group_likes(const Blocks& fine, const Labels& groups, const Grouped& members, Blocks& out) {
        const std::size_t n = fine.size(), n_groups = out.size();
        std::vector<float> row(n);
        out.like.assign(n_groups * n_groups, 0);
        for (std::size_t g = 0; g < n_groups; ++g) {
            row.assign(n, 0);
            for (int a = members.first[g]; a < members.first[g + 1]; ++a)
                search_kernels().add(&fine.like[members.items[a] * n], 1, n, row.data());
            for (std::size_t y = 0; y < n; ++y) out.like[g * n_groups + groups[y]] += row[y];
        }
    }

    // Columns to look at: those in use, and one that is empty.
    int scored() {
        int last = static_cast<int>(stride_) - 1;
        while (last >= 0 && size_[last] == 0) --last;
        if (used_ == static_cast<int>(stride_)) widen();
        return static_cast<int>(round_up(last + 1 + (used_ == last + 1)));
    }
    int largest() const { return static_cast<int>(std::max_element(size_.begin(), size_.end()) - size_.begin()); }

    void shift(int i, int k, int sign) {
        if (blocks_->are_single()) count_single(i, k, sign, 0, draws_->size());
        else count_block(i, k, sign);
        resize(i, k, sign);
    }

    void count_single(int i, int k, int sign, int first_draw, int n_draws) {
        search_kernels().shift(&counts_[k], &steps_[k], stride_, &blocks_->rows[blocks_->first[i] + first_draw],
                               n_draws, sign, step_.data(), loss_->cell.data(), &j_[first_draw]);
    }

    void count_block(int i, int k, int sign) {
        const auto& cell = loss_->cell;
        for_entries(i, [&](int m, std::uint32_t row, Count c) {
            auto& held = counts_[at(row, k)];
            const Count now = held + sign * c;
            j_[m] += cell[now] - cell[held];
            held = now;
        });
    }

    void resize(int i, int k, int sign) {
        const auto& cell = loss_->cell;
        const std::size_t n = size();
        search_kernels().add(&blocks_->like[i * n], static_cast<float>(sign), n, &sums_[k * n]);
        const int now = size_[k] + sign * blocks_->weight[i];
        e_ += cell[now] - cell[size_[k]];
        used_ += (now > 0) - (size_[k] > 0);
        size_[k] = now;
    }

    void clear_columns(int n_columns) {
        stride_ = round_up(2 + n_columns);
        counts_.assign(draws_->n_rows() * stride_, 0);
        if (blocks_->are_single()) steps_.assign(counts_.size(), step_[0]);
        sums_.assign(std::size_t(size()) * stride_, 0);
        size_.assign(stride_, 0);
        std::fill(j_.begin(), j_.end(), 0.0);
        e_ = 0, used_ = 0, value_ = -1;
    }

    void widen() {
        const std::size_t wide = 2 * stride_;
        auto spread = [&](auto& table, auto fill) {
            std::remove_reference_t<decltype(table)> wider(draws_->n_rows() * wide, fill);
            for (std::size_t r = 0; r < draws_->n_rows(); ++r)
                std::copy_n(&table[r * stride_], stride_, &wider[r * wide]);
            table.swap(wider);
        };
        spread(counts_, Count{0});
        if (blocks_->are_single()) spread(steps_, step_[0]);
        size_.resize(wide), sums_.resize(size() * wide), stride_ = wide;
    }

    std::shared_ptr<const DrawRows> draws_;
    std::shared_ptr<const Loss> loss_;
    std::shared_ptr<const Blocks> blocks_;
    Limits limits_;
    int n_looked_;
    Labels label_;
    std::vector<Count> counts_;       // [row][column], rows `stride_` long
    std::vector<float> steps_;        // cell(count + 1) - cell(count), so that a gain is a sum of rows
    std::vector<int> size_;           // of columns
    std::vector<double> j_, change_;  // of draws
    std::vector<float> slope_, step_;
    std::vector<float> sums_;  // [column][item]: how similar the item is to those of the column, together
    std::vector<double> bound_;
    std::vector<Count> mark_;
    double e_ = 0, value_ = -1, by_e_ = 0, total_slope_ = 0;
    float reach_ = 1;  // by how much similarities may fall short when draws are weighted by their slopes
    std::size_t stride_ = 0;
    int used_ = 0;
    bool is_concave_ = true, is_settled_ = false;
};
static_assert(Objective<OnDraws>);

}  // namespace partita
