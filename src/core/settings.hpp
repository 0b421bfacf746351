// What a search may be told. The table of benchmarks/search.py ablate says what each is worth.
#pragma once

namespace partita {

constexpr double kLeast = 1e-12;  // a gain that counts, and the rounding of sums in double precision
constexpr double kSingle = 1e-5;  // the rounding of sums in single precision
constexpr int kMostRounds = 100;  // of a sweep, so that it ends whatever rounding does

struct Settings {
    int n_starts = 4;         // descents that begin a population
    int n_members = 8;        // partitions that a population keeps
    int batch = 8;            // attempts that are made at once, from the same members
    double recombined = 0.5;  // share of attempts that put common blocks together anew
    double joined = 0.1;      // share of attempts that make one cluster of small ones; the others rebuild clusters
    int patience = 32;        // attempts in vain, in a row, that end a population
    int late = 16;            // the same on all draws, where two populations ended apart
    int n_populations = 4;    // that are begun, at most, until one ends where those before it did
    int sampled = 400;        // draws in a sample, where there are more than twice as many
    double worth = 1e-5;      // relative gain below which an attempt was in vain, and two populations have met
    int n_looked = 6;    // clusters (for an item: sixteens of them) that are looked at, those of the highest bounds
    bool merges = true;  // whether whole clusters join
};

}  // namespace partita
