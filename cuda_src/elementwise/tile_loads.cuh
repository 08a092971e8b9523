// How the operands of a tile come: along the rows, or across them through shared memory.
#pragma once

#include "elementwise/tile.cuh"
#include "gpubench/movement/transpose_braids.cuh"
#include "gpubench/movement/transpose_stages.cuh"
#include "gpubench/movement/transpose_units.cuh"

namespace gpubench::elementwise {

// How an operand comes.
enum Way { by_rows, by_braids, by_squares, by_stages };

constexpr GPUBENCH_DEVICE Way way_of(Lie lie) {
    return lie == turned_off_grid ? by_stages : lie >= turned ? by_squares : lie == braided ? by_braids : by_rows;
}

template <class G, class I, int Number, Way W>
struct TileLoads;

// An operand along the rows.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_rows> {
    using T = typename I::Type;
    static constexpr int V = G::V, shared_bytes = 0, held = I::lie == row ? 1 : G::passes;
    static constexpr bool off = I::lie == off_grid;
    conditional_t<off, Coming<T, V>, Packed<T, V>> raw[held];

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const typename G::Share (&shares)[G::passes], char*) {
        GPUBENCH_UNROLL
        for (int k = 0; k < held; ++k) {
            raw[k] = {};
            if (!shares[k].exists()) continue;
            const typename G::Share& share = shares[k];
            const auto begin = tile.row_offset(k, Number + 1);
            const T* const place = data + (begin + share.first);
            if constexpr (I::lie == still) {
                raw[k] = repeated<V>(data[begin]);
            } else if constexpr (I::lie == apart && G::along_dims > 1) {
                raw[k] = load_by_place(data + begin, tile, share);
            } else if constexpr (I::lie == apart) {
                const int64 step = tile.along.strides[0][Number + 1];
                raw[k] = load_one_by_one<V>(data + begin + share.first * step, step, share.from, share.to);
            } else if constexpr (off) {  // what lies beside the row is brought as well, and given up
                raw[k].ask(place, data, data + tile.shape.extents[Number]);
            } else if (G::whole || share.is_vector(V)) {
                raw[k] = load_on_grid<V>(place);
            } else {
                raw[k] = load_one_by_one<V>(place, 1, share.from, share.to);
            }
        }
    }
    // Of a small operand, whose elements lie anywhere.
    static GPUBENCH_DEVICE Packed<T, V> load_by_place(const T* row, const G& tile, const typename G::Share& share) {
        Vector<T, V> items{};
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            if (G::all || G::whole || (j >= share.from && j < share.to)) items[j] = row[tile.line_offset(share.first + j, Number + 1)];
        }
        return bit_cast<Packed<T, V>>(items);
    }
    GPUBENCH_DEVICE void fill(char*) const {}
    GPUBENCH_DEVICE Packed<T, V> get(const char*, const G&, const typename G::Share&, int k) const {
        if constexpr (off) {
            return raw[k].get();
        } else {
            return raw[I::lie == row ? 0 : k];
        }
    }
};

// All rows of an operand as one run. Where the output's rows begin off the grid, each at its own distance, they go through shared
// memory.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_braids> {
    using T = typename I::Type;
    using Braided = BraidedRows<T, G::V, G::passes, G::length / G::V, G::unit>;
    static constexpr int V = G::V, shared_bytes = G::whole ? 0 : Braided::bytes;
    Braided rows;

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const typename G::Share (&)[G::passes], char*) {
        const int64 line = tile.first_line() + G::lane() * V, left = line < 0 ? 0 : tile.shape.length - line;
        rows.template load<G::whole>(data + tile.outer[Number + 1] + line * G::passes, left * G::passes);
    }
    GPUBENCH_DEVICE void fill(char* stage) const {
        if constexpr (!G::whole) rows.fill(stage, G::lane());
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const typename G::Share& share, int k) const {
        if constexpr (G::whole) return rows.row(k);
        else return Braided::load_row(stage, k, static_cast<uint32>(share.first - tile.first_line()));
    }
};

// An operand across the rows whose lines stand on vectors, or whose elements lie apart.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_squares> {
    using T = typename I::Type;
    using Turned = TurnedTile<T, G::length, G::rows, tile_threads>;
    static constexpr int V = G::V, shared_bytes = Turned::bytes;
    Packed<T, Turned::V> lines[Turned::held][Turned::pack];

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const typename G::Share (&)[G::passes], char*) {
        GPUBENCH_UNROLL
        for (int n = 0; n < Turned::held; ++n) {
            GPUBENCH_UNROLL
            for (int p = 0; p < Turned::pack; ++p) {
                lines[n][p] = {};
                const auto line = tile.first_line() + Turned::column(n) * Turned::pack + p;
                if (!Turned::exists(n) || Turned::row(n) >= tile.own_rows || !tile.has_line(line)) continue;
                const auto begin = tile.outer[Number + 1] + tile.line_offset(line, Number + 1);
                const auto first = static_cast<typename G::Offset>(tile.first_row + Turned::row(n));
                if constexpr (I::lie == turned) {
                    lines[n][p] = load_on_grid<Turned::V>(data + (begin + first));
                } else {
                    const int64 step = tile.across.strides[0][Number + 1];
                    lines[n][p] = load_one_by_one<Turned::V>(data + (begin + first * step), step, 0, tile.own_rows - Turned::row(n));
                }
            }
        }
    }
    GPUBENCH_DEVICE void fill(char* stage) const {
        GPUBENCH_UNROLL
        for (int n = 0; n < Turned::held; ++n) {
            if (Turned::exists(n)) Turned::fill(stage, n, lines[n]);
        }
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const typename G::Share& share, int k) const {
        const uint32 at = static_cast<uint32>(share.first - tile.first_line());
        if constexpr (G::whole) return Turned::template load_whole<V>(stage, G::row(k), at);
        else return Turned::template load<V>(stage, G::row(k), at);
    }
};

// An operand across the rows at any alignment: it comes as it lies, and is cut when it is read.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_stages> {
    using T = typename I::Type;
    static constexpr int V = G::V;
    using Staged = StagedLines<T, G::lines, V, G::rows, tile_threads>;
    static constexpr int shared_bytes = Staged::bytes;
    // Whether units that hold something of the tile's lines lie inside the operand, every one.
    static GPUBENCH_DEVICE bool is_inside(const G& tile) {
        const int64 first = int64{tile.outer[Number + 1]} + tile.first_row;
        const int64 low = first + tile.least_offset(tile.first_line(), Number + 1);
        const int64 high = first + tile.most_offset(tile.first_line() + G::lines - 1, Number + 1) + Staged::units * Staged::W;
        return low >= Staged::W && high + Staged::W <= tile.shape.extents[Number];
    }
    int places[V];  // of the elements of this thread's vector in its first row, in bytes

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const typename G::Share (&)[G::passes], char* stage) {
        const auto origin = tile.outer[Number + 1] + static_cast<typename G::Offset>(tile.first_row);
        const auto first = tile.first_line();
        const auto line_of = [&](int line) { return data + (origin + tile.line_offset(first + line, Number + 1)); };
        const auto has_line = [&](int line) { return tile.has_line(first + line); };
        Staged::template bring<G::all>(stage, line_of, has_line, tile.own_rows, data, data + tile.shape.extents[Number]);
    }
    GPUBENCH_DEVICE void fill(char*) const {}
    GPUBENCH_DEVICE void find_places(const char* stage, const G& tile, const typename G::Share& share, int k) {
        const auto begins = Staged::template begins<G::whole>(stage, static_cast<uint32>(share.first - tile.first_line()));
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) places[j] = begins[j] + G::row(k) * Staged::size;
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const typename G::Share& share, int k) {
        if (!G::steady || k == 0) find_places(stage, tile, share, k);
        const char* const rows = stage + (G::steady ? k * G::pass_rows * Staged::size : 0);
        Vector<T, V> items{};
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            if (G::all || G::whole || (j >= share.from && j < share.to)) items[j] = *reinterpret_cast<const T*>(rows + places[j]);
        }
        return bit_cast<Packed<T, V>>(items);
    }
};

template <class G, class I, int Number>
struct TileHeld : TileLoads<G, I, Number, way_of(I::lie)> {};

}  // namespace gpubench::elementwise
