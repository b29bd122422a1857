// The rotation in one pass over memory; native.py builds it, gives it what fits, and says when.
//
// Rows lie anywhere, elements of a row beside each other. `out` may be `x`: a row is read whole
// before it is written. Every path does the same float32 arithmetic, and rounds once.

#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
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

inline float widen(float x) { return x; }

inline float widen(BFloat16 x) { return from_bits(uint32_t(x.bits) << 16); }

inline float widen(Float16 x) {  // 112 is by how much the exponents differ
    const uint32_t size = uint32_t(x.bits & 0x7fff) << 13, sign = uint32_t(x.bits & 0x8000) << 16;
    const uint32_t finite = bits_of(from_bits(size) * 0x1p112f);
    return from_bits((size >= 0x7c00 << 13 ? size | 0x7f800000 : finite) | sign);
}

inline void narrow(float x, float& to) { to = x; }

// Ties to even; a NaN stays one.
inline void narrow(float x, BFloat16& to) {
    const uint32_t bits = bits_of(x), rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    to.bits = uint16_t(x == x ? rounded : 0x7fc0);
}

inline void narrow(float x, Float16& to) {
    const uint32_t size = bits_of(x) & 0x7fffffff, sign = bits_of(x) >> 16 & 0x8000;
    const uint32_t normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    // Added to a half, what is below 2**-14 has its last bit where float16 has it.
    const uint32_t tiny = bits_of(from_bits(size) + 0.5f) - 0x3f000000;
    const uint32_t finite = size < 0x38800000 ? tiny : normal;
    const uint32_t large = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    to.bits = uint16_t((size < 0x47800000 ? finite : large) | sign);
}

template <typename T, bool interleaved>
inline void rotate_row(T* __restrict to, const T* __restrict x, const float* __restrict cos,
                       const float* __restrict sin, int64_t num_pairs) {
    const int64_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : num_pairs;
    for (int64_t i = 0; i < num_pairs; i++) {
        float a = widen(x[step * i]), b = widen(x[step * i + apart]);
        narrow(multiply_add(-b, sin[i], a * cos[i]), to[step * i]);
        narrow(multiply_add(a, sin[i], b * cos[i]), to[step * i + apart]);
    }
}

// Past the cache, which then need not first read what is to be written over.
inline bool stream(void* to, const void* from, int64_t bytes) {
#if defined(__SSE2__)
    if ((reinterpret_cast<uintptr_t>(to) | bytes) % 16) return false;
    for (int64_t i = 0; i < bytes / 16; i++)
        _mm_stream_si128(static_cast<__m128i*>(to) + i,
                         _mm_loadu_si128(static_cast<const __m128i*>(from) + i));
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

const int64_t ROW = 1 << 14;  // bytes of the longest row, as native.py knows
const int64_t BLOCK = 32;     // positions whose tables stay in the cache while heads pass by

template <typename T, bool interleaved>
void rotate_all(void* to_all, const void* from_all, const float* cos, const float* sin,
                const int64_t* sizes, bool past_cache, int threads) {
    T* out = static_cast<T*>(to_all);
    const T* x = static_cast<const T*>(from_all);
    const int64_t *out_strides = sizes + 5, *x_strides = sizes + 8;
    const int64_t *cos_strides = sizes + 11, *sin_strides = sizes + 13;
    const int64_t heads = sizes[1], seq_len = sizes[2], head_dim = sizes[3], num_pairs = sizes[4];
    const int64_t blocks = (seq_len + BLOCK - 1) / BLOCK, items = sizes[0] * blocks * heads;
    past_cache = past_cache && !is_new(out + sizes[0] * heads * seq_len * head_dim / 2);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t item = 0; item < items; item++) {
        alignas(64) T row[ROW / sizeof(T)];
        const int64_t head = item % heads, block = item / heads % blocks, b = item / heads / blocks;
        const int64_t stop = (block + 1) * BLOCK < seq_len ? (block + 1) * BLOCK : seq_len;
        for (int64_t s = block * BLOCK; s < stop; s++) {
            const T* from = x + b * x_strides[0] + head * x_strides[1] + s * x_strides[2];
            T* to = out + b * out_strides[0] + head * out_strides[1] + s * out_strides[2];
            rotate_row<T, interleaved>(row, from, cos + b * cos_strides[0] + s * cos_strides[1],
                                       sin + b * sin_strides[0] + s * sin_strides[1], num_pairs);
            memcpy(row + 2 * num_pairs, from + 2 * num_pairs,
                   (head_dim - 2 * num_pairs) * sizeof(T));
            if (!past_cache || !stream(to, row, head_dim * sizeof(T)))
                memcpy(to, row, head_dim * sizeof(T));
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
        rotate_row<T, interleaved>(out, x, cos, sin, num_pairs);
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
