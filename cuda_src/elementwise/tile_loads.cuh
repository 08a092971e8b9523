// How the operands of a tile come: along the rows, or across them through shared memory.
#pragma once

#include "elementwise/tile.cuh"
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

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&shares)[G::passes], char*) {
        GPUBENCH_UNROLL
        for (int k = 0; k < held; ++k) {
            raw[k] = {};
            if (!shares[k].exists()) continue;
            const T* const row_place = data + tile.row_offset(k, Number + 1);
            if constexpr (I::lie == still) {
                raw[k] = repeated<V>(*row_place);
            } else if constexpr (I::lie == apart) {
                const int64 step = tile.along.strides[0][Number + 1];
                raw[k] = load_one_by_one<V>(row_place + shares[k].first * step, step, shares[k].from, shares[k].to);
            } else if constexpr (off) {  // what lies beside the row is brought as well, and given up
                raw[k].ask(row_place + shares[k].first, data, data + tile.shape.extents[Number]);
            } else if (G::whole || shares[k].is_vector(V)) {
                raw[k] = load_on_grid<V>(row_place + shares[k].first);
            } else {
                raw[k] = load_one_by_one<V>(row_place + shares[k].first, 1, shares[k].from, shares[k].to);
            }
        }
    }
    GPUBENCH_DEVICE void fill(char*) const {}
    GPUBENCH_DEVICE Packed<T, V> get(const char*, const G&, const Share&, int k) const {
        if constexpr (off) {
            return raw[k].get();
        } else {
            return raw[I::lie == row ? 0 : k];
        }
    }
};

// All rows of an operand as one run: vectors of it side by side, each with something of all rows, are sorted in registers. Where the
// output's rows begin off the grid, each at its own distance, they go through shared memory row by row, and a thread cuts its
// vector out of two.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_braids> {
    using T = typename I::Type;
    static constexpr int V = G::V, rows = G::passes, vectors = G::length / V;
    static constexpr int size = static_cast<int>(sizeof(T)) * V, shared_bytes = G::whole ? 0 : rows * vectors * size;
    Packed<T, V> raw[rows];

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&)[rows], char*) {
        const int64 line = tile.first_line() + G::lane() * V, left = (tile.shape.length - line) * rows;
        const T* const run = data + tile.outer[Number + 1] + line * rows;
        GPUBENCH_UNROLL
        for (int k = 0; k < rows; ++k) {
            raw[k] = {};
            if (line < 0 || left <= k * V) continue;
            if (G::whole || left >= (k + 1) * V) raw[k] = load_on_grid<V>(run + k * V);
            else raw[k] = load_one_by_one<V>(run + k * V, 1, 0, static_cast<int>(left) - k * V);
        }
    }
    GPUBENCH_DEVICE Packed<T, V> sorted(int k) const {
        Vector<T, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = bit_cast<Vector<T, V>>(raw[(j * rows + k) / V])[(j * rows + k) % V];
        return bit_cast<Packed<T, V>>(items);
    }
    static GPUBENCH_DEVICE int place(uint32 k, uint32 vector) { return (k * vectors + vector) * size; }
    GPUBENCH_DEVICE void fill(char* stage) const {
        GPUBENCH_UNROLL
        for (int k = 0; !G::whole && k < rows; ++k) store_packed(reinterpret_cast<T*>(stage + place(k, G::lane())), sorted(k));
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const Share& share, int k) const {
        if constexpr (G::whole) {
            return sorted(k);
        } else {
            const uint32 at = static_cast<uint32>(share.first - tile.first_line()), vector = at / V, distance = at % V;
            const auto load = [&](int n) { return load_packed<V>(reinterpret_cast<const T*>(stage + place(k, n))); };
            return joined(load(vector), load(vector + (distance > 0)), distance);
        }
    }
};

// An operand across the rows whose lines stand on vectors, or whose elements lie apart.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, by_squares> {
    using T = typename I::Type;
    using Turned = TurnedTile<T, G::length, G::rows, tile_threads>;
    static constexpr int V = G::V, shared_bytes = Turned::bytes;
    Packed<T, Turned::V> lines[Turned::held][Turned::pack];

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&)[G::passes], char*) {
        GPUBENCH_UNROLL
        for (int n = 0; n < Turned::held; ++n) {
            GPUBENCH_UNROLL
            for (int p = 0; p < Turned::pack; ++p) {
                lines[n][p] = {};
                const int64 line = tile.first_line() + Turned::column(n) * Turned::pack + p;
                if (!Turned::exists(n) || Turned::row(n) >= tile.own_rows || !tile.has_line(line)) continue;
                const T* const begin = data + tile.outer[Number + 1] + tile.line_offset(line, Number + 1);
                const uint32 first = tile.first_row + Turned::row(n);
                if constexpr (I::lie == turned) {
                    lines[n][p] = load_on_grid<Turned::V>(begin + first);
                } else {
                    const int64 step = tile.across.strides[0][Number + 1];
                    lines[n][p] = load_one_by_one<Turned::V>(begin + first * step, step, 0, tile.own_rows - Turned::row(n));
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
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const Share& share, int k) const {
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
        const int64 first = tile.outer[Number + 1] + tile.first_row;
        const int64 low = first + tile.least_offset(tile.first_line(), Number + 1);
        const int64 high = first + tile.most_offset(tile.first_line() + G::lines - 1, Number + 1) + G::rows;
        return low >= Staged::W && high + Staged::W <= tile.shape.extents[Number];
    }
    int distance;   // of the tile's first row, in elements from a unit's beginning
    int places[V];  // of the elements of this thread's vector in its first row, in bytes

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&)[G::passes], char* stage) {
        const T* const origin = data + tile.outer[Number + 1] + tile.first_row;
        distance = behind_grid<Staged::W>(origin);
        const int64 first = tile.first_line();
        const auto line_of = [&](int line) { return origin + tile.line_offset(first + line, Number + 1); };
        const auto has_line = [&](int line) { return tile.has_line(first + line); };
        Staged::template bring<G::all>(stage, line_of, has_line, tile.own_rows, data, data + tile.shape.extents[Number]);
    }
    GPUBENCH_DEVICE void fill(char*) const {}
    GPUBENCH_DEVICE void find_places(const G& tile, const Share& share, int k) {
        const uint32 at = static_cast<uint32>(share.first - tile.first_line());
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            const int behind = (distance + static_cast<int>(tile.line_offset(share.first + j, Number + 1))) & (Staged::W - 1);
            places[j] = Staged::place(at + j) + (behind + G::row(k)) * Staged::size;
        }
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const Share& share, int k) {
        if (!G::steady || k == 0) find_places(tile, share, k);
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
