// The rotation, which reads once and writes once; native.py builds it, gives it what fits, and says when.
//
// Rows lie anywhere, elements of a row beside each other. `out` may be `x`: a row is read whole
// before it is written. Every path does the same float32 arithmetic, and rounds once.

#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

// With a fused multiply-add everywhere or nowhere, the same number comes out of every lane.
inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

struct BFloat16 { uint16_t bits; };
struct Float16 { uint16_t bits; };

inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// A number of 16 bits comes and goes as the low half of 32.
inline float widen(uint32_t low, BFloat16) { return from_bits(low << 16); }

inline float widen(uint32_t low, Float16) {  // 112 is by how much the exponents differ
    const uint32_t size = (low & 0x7fff) << 13, sign = (low & 0x8000) << 16;
    const uint32_t finite = bits_of(from_bits(size) * 0x1p112f);
    return from_bits((size >= 0x7c00 << 13 ? size | 0x7f800000 : finite) | sign);
}

// Ties to even; a NaN stays one.
inline uint32_t narrow(float x, BFloat16) {
    const uint32_t bits = bits_of(x), rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return x == x ? rounded : 0x7fc0;
}

inline uint32_t narrow(float x, Float16) {
    const uint32_t size = bits_of(x) & 0x7fffffff, sign = bits_of(x) >> 16 & 0x8000;
    const uint32_t normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    // Added to a half, what is below 2**-14 has its last bit where float16 has it.
    const uint32_t tiny = bits_of(from_bits(size) + 0.5f) - 0x3f000000;
    const uint32_t finite = size < 0x38800000 ? tiny : normal;
    const uint32_t large = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (size < 0x47800000 ? finite : large) | sign;
}

inline void turn(float& a, float& b, float cos, float sin) {
    const float first = multiply_add(-b, sin, a * cos);
    b = multiply_add(a, sin, b * cos);
    a = first;
}

template <bool interleaved>
inline void rotate_pair(float* to, const float* x, float cos, float sin, int64_t i, int64_t apart) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : i + apart;
    float a = x[first], b = x[second];
    turn(a, b, cos, sin);
    to[first] = a;
    to[second] = b;
}

// Neighbors of 16 bits are one number of 32, of which nothing need change its place.
template <bool interleaved, typename T>
inline void rotate_pair(T* to, const T* x, float cos, float sin, int64_t i, int64_t apart) {
    uint32_t both = 0;
    if (interleaved) memcpy(&both, x + 2 * i, sizeof both);
    float a = widen(interleaved ? both & 0xffff : x[i].bits, T());
    float b = widen(interleaved ? both >> 16 : x[i + apart].bits, T());
    turn(a, b, cos, sin);
    const uint32_t first = narrow(a, T()), second = narrow(b, T());
    both = first | second << 16;
    if (interleaved) {
        memcpy(to + 2 * i, &both, sizeof both);
    } else {
        to[i].bits = uint16_t(first);
        to[i + apart].bits = uint16_t(second);
    }
}

// The last piece goes back over pairs that are done, rather than one by one over those that are not.
template <bool interleaved, typename T>
inline void rotate_row(T* __restrict to, const T* __restrict x, const float* __restrict cos,
                       const float* __restrict sin, int64_t num_pairs) {
    const int64_t piece = 16, whole = num_pairs & -2 * piece;
    for (int64_t i = 0; i < whole; i++)
        rotate_pair<interleaved>(to, x, cos[i], sin[i], i, num_pairs);
    for (int64_t at = whole; at < num_pairs && num_pairs >= piece; at += piece) {
        const int64_t begin = at + piece <= num_pairs ? at : num_pairs - piece;
        for (int64_t i = begin; i < begin + piece; i++)
            rotate_pair<interleaved>(to, x, cos[i], sin[i], i, num_pairs);
    }
    for (int64_t i = 0; i < num_pairs && num_pairs < piece; i++)
        rotate_pair<interleaved>(to, x, cos[i], sin[i], i, num_pairs);
}

// Past the cache, which then need not first read what is to be written over.
inline bool stream(void* to, const void* from, int64_t bytes) {
#if defined(__SSE2__)
#if defined(__AVX512F__)
    using Piece = __m512i;
    const auto put = [](Piece* to, const Piece* from) { _mm512_stream_si512(to, *from); };
#elif defined(__AVX__)
    using Piece = __m256i;
    const auto put = [](Piece* to, const Piece* from) { _mm256_stream_si256(to, *from); };
#else
    using Piece = __m128i;
    const auto put = [](Piece* to, const Piece* from) { _mm_stream_si128(to, *from); };
#endif
    if ((reinterpret_cast<uintptr_t>(to) | bytes) % sizeof(Piece)) return false;
    for (int64_t i = 0; i < bytes / int64_t(sizeof(Piece)); i++)
        put(static_cast<Piece*>(to) + i, static_cast<const Piece*>(from) + i);
    return true;
#else
    return false;
#endif
}

// New memory has no page before it is written to, and what the system clears for it is in the cache.
inline bool is_new(const void* memory) {
#if defined(__linux__)
    unsigned char present = 1;
    void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) & ~uintptr_t(4095));
    return mincore(page, 1, &present) == 0 && !(present & 1);
#else
    return false;
#endif
}

// Asks for a row before it is read: what comes next is not where the processor would guess.
inline void fetch(const char* row, int64_t bytes) {
#if defined(__GNUC__)
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(row + i);
#endif
}

const int64_t ROW = 1 << 14;  // bytes of the longest row, as native.py knows
const int64_t HEADS = 4;      // that go side by side: so many streams memory serves faster than one
const int64_t AHEAD = 2;      // positions by which a row is asked for before its turn
const int64_t BLOCK = 128;    // positions whose tables stay in the cache while heads pass by

template <typename T, bool interleaved>
void rotate_all(void* to_all, const void* from_all, const float* cos, const float* sin,
                const int64_t* sizes, bool past_cache, int threads) {
    T* out = static_cast<T*>(to_all);
    const T* x = static_cast<const T*>(from_all);
    const int64_t *out_strides = sizes + 5, *x_strides = sizes + 8;
    const int64_t *cos_strides = sizes + 11, *sin_strides = sizes + 13;
    const int64_t heads = sizes[1], seq_len = sizes[2], head_dim = sizes[3], num_pairs = sizes[4];
    const int64_t still = 2 * num_pairs, bytes = head_dim * int64_t(sizeof(T));
    const int64_t groups = (heads + HEADS - 1) / HEADS;
    int64_t block = BLOCK;  // shorter where threads would be without work
    while (block > 16 && sizes[0] * groups * ((seq_len - 1) / block + 1) < 4 * threads) block /= 2;
    const int64_t blocks = (seq_len - 1) / block + 1, items = sizes[0] * blocks * groups;
    past_cache = past_cache && !is_new(out + sizes[0] * heads * seq_len * head_dim / 2);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t item = 0; item < items; item++) {
        alignas(64) T row[ROW / sizeof(T)];
        const int64_t first = item % groups * HEADS, b = item / groups / blocks;
        const int64_t begin = item / groups % blocks * block;
        const int64_t last = first + HEADS < heads ? first + HEADS : heads;
        const int64_t stop = begin + block < seq_len ? begin + block : seq_len;
        for (int64_t s = begin; s < stop; s++) {
            const float* c = cos + b * cos_strides[0] + s * cos_strides[1];
            const float* d = sin + b * sin_strides[0] + s * sin_strides[1];
            for (int64_t head = first; head < last; head++) {
                const T* from = x + b * x_strides[0] + head * x_strides[1] + s * x_strides[2];
                T* to = out + b * out_strides[0] + head * out_strides[1] + s * out_strides[2];
                if (s + AHEAD < stop)
                    fetch(reinterpret_cast<const char*>(from + AHEAD * x_strides[2]), bytes);
                rotate_row<interleaved>(row, from, c, d, num_pairs);
                if (still < head_dim)
                    memcpy(row + still, from + still, (head_dim - still) * sizeof(T));
                if (!past_cache || !stream(to, row, bytes)) memcpy(to, row, bytes);
            }
        }
#if defined(__SSE2__)
        if (past_cache) _mm_sfence();
#endif
    }
}

// Rows beside each other that stand at one position.
template <typename T, bool interleaved>
void rotate_step(void* to, const void* from, int64_t rows, const float* cos, const float* sin,
                 int64_t head_dim, int64_t num_pairs) {
    T* out = static_cast<T*>(to);
    const T* x = static_cast<const T*>(from);
    for (int64_t i = 0; i < rows; i++, out += head_dim, x += head_dim) {
        rotate_row<interleaved>(out, x, cos, sin, num_pairs);
        memcpy(out + 2 * num_pairs, x + 2 * num_pairs, (head_dim - 2 * num_pairs) * sizeof(T));
    }
}

using All = void (*)(void*, const void*, const float*, const float*, const int64_t*, bool, int);
using Step = void (*)(void*, const void*, int64_t, const float*, const float*, int64_t, int64_t);
const All ALL[][2] = {{rotate_all<float, false>, rotate_all<float, true>},
                      {rotate_all<BFloat16, false>, rotate_all<BFloat16, true>},
                      {rotate_all<Float16, false>, rotate_all<Float16, true>}};
const Step STEP[][2] = {{rotate_step<float, false>, rotate_step<float, true>},
                        {rotate_step<BFloat16, false>, rotate_step<BFloat16, true>},
                        {rotate_step<Float16, false>, rotate_step<Float16, true>}};

}  // namespace

// numbers: batch, heads, seq_len, head_dim, num_pairs; strides of out, x (3 each), cos, sin (2)
extern "C" void rotate(void* out, const void* x, const float* cos, const float* sin,
                       const int64_t* numbers, int dtype, int is_interleaved, int past_cache,
                       int threads) {
    ALL[dtype][is_interleaved](out, x, cos, sin, numbers, past_cache, threads);
}

// numbers: rows of q, of k, head_dim, num_pairs, dtype, is_interleaved; the addresses of cos and of
// sin, and what is from row to row of each
extern "C" void rotate_both(void* new_q, const void* q, void* new_k, const void* k, int64_t row,
                            const int64_t* numbers) {
    const float* cos = reinterpret_cast<const float*>(numbers[6]) + row * numbers[8];
    const float* sin = reinterpret_cast<const float*>(numbers[7]) + row * numbers[9];
    const Step step = STEP[numbers[4]][numbers[5]];
    step(new_q, q, numbers[0], cos, sin, numbers[2], numbers[3]);
    step(new_k, k, numbers[1], cos, sin, numbers[2], numbers[3]);
}
