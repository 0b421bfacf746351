// What a search may be told. The table in benchmarks/search.py ablate says what each is worth.
#pragma once

namespace partita {

constexpr double kLeast = 1e-12;  // a gain that counts, and the rounding of sums in double precision
constexpr double kSingle = 1e-5;  // the rounding of sums in single precision

struct Settings {
    int n_members = 8;        // partitions that a population keeps
    int n_starts = 4;         // descents that begin a population
    int patience = 32;        // attempts in vain, in a row, that end a population
    int confirm = 4;          // the same where all its starts, or two populations, ended at one partition
    int n_populations = 4;    // that are begun, at most, until one ends where those before it did
    int batch = 8;            // attempts that are made at once, from the same members
    double recombined = 0.5;  // share of attempts that put common blocks together anew
    double leaned = 0.1;      // share that descend on a leaning loss; the others rebuild clusters
    double tilt = 0.05;       // how much smaller or larger e is where a loss leans, at most
    double tilted = 0.5;      // share of attempts of the other kinds that lean while they build
    int n_emptied = 3;        // clusters that a rebuild empties, at most
    double far = 0.05;        // relative excess of the loss beyond which a partition leads nowhere
    int n_looked = 6;         // clusters that are looked at for a block, those of the highest bounds
    int stale = 8;            // moves between looks at the slopes
    int max_rounds = 100;     // of a sweep, so that it ends whatever rounding does
    double sampled = 5;       // draws in a sample over the root of how many there are
    int carried = 4;          // partitions of each sample's population that go on to all draws
    int late = 12;            // attempts in vain on all draws, where two populations ended apart
    bool merges = true;       // whether whole clusters join
};

}  // namespace partita
