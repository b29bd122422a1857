// Check a rotation: cc -std=c11 reader.c -o reader -lm && ./reader < vectors.txt
#include <math.h>
#include <stdio.h>
enum { NAME, CONFIG, LAYOUT, SHAPE, WIDTH, LENGTH, FREQ, BY, AXIS, IDS, COS, SIN, Q, K, Q_OUT, K_OUT };
static int pairs, half; static char words[SHAPE][4096]; static double of[K_OUT + 1][4096], places[4096];
static const double ANGLES = 0, BETWEEN = 0;  // exact; float32 angles: 0x1p-19, 0; bfloat16: 0x1p-19, 0.02
static void rotate(double *x, const double *at, const double *freq, double by) {  // put your own here
    for (int i = 0; i < pairs; i++) {
        double *a = half ? x + i : x + 2 * i, *b = half ? a + pairs : a + 1, first = *a;
        double c = by * cos(at[i] * freq[i]), s = by * sin(at[i] * freq[i]);
        *a = first * c - *b * s, *b = first * s + *b * c;
    }
}
static int within(double x, double want, double most) {  // half a unit of float32 besides
    return fabs(x - want) <= most + ldexp(1, ilogb(fmax(fabs(want), 0x1p-126)) - 24);
}
static int agree(double *x, const double *want, int heads) {
    int tokens = (int)of[SHAPE][4], all = (int)of[SHAPE][1] * tokens, width = (int)*of[WIDTH];
    for (int j = 0; j < all * heads; j++, x += width, want += width) {
        int token = j / (heads * tokens) * tokens + j % tokens;  // among those of all rows
        for (int i = 0; i < pairs; i++) places[i] = of[IDS][(int)of[AXIS][i] * all + token];
        rotate(x, places, of[FREQ], *of[BY]);
        for (int i = 0; i < pairs; i++) {
            int a = half ? i : 2 * i, b = half ? i + pairs : a + 1, k = token * pairs + i;
            double angle = places[i] * of[FREQ][i], c = *of[BY] * cos(angle), s = *of[BY] * sin(angle);
            if (!(hypot(c - of[COS][k], s - of[SIN][k]) < 2e-8)) return 0;
            double most = (0x1p-22 + BETWEEN + fmin(ANGLES * fabs(angle), 1.0 / 16)) * hypot(want[a], want[b]);
            if (!within(x[a], want[a], most) || !within(x[b], want[b], most)) return 0;
        }
        for (int i = 2 * pairs; i < width; i++) if (x[i] != want[i]) return 0;
    }
    return 1;
}
int main(void) {
    int n, cases = 0, right = 0, ok = scanf("format 1 1 generator 1 %d", &n);
    for (int line = 0; ok == 1 && scanf("%*s %d", &n) == 1; line = (line + 1) % (K_OUT + 1)) {
        for (int i = 0; i < n; i++) ok = line < SHAPE ? scanf("%4095s", words[line]) : scanf("%lf", &of[line][i]);
        if (line == FREQ) pairs = n, half = *words[LAYOUT] == 'h';
        if (line < K_OUT) continue;
        right += n = agree(of[Q], of[Q_OUT], (int)of[SHAPE][2]) & agree(of[K], of[K_OUT], (int)of[SHAPE][3]);
        printf("%s %s\n", n ? "right" : "wrong", words[NAME]), cases++;
    }
    return printf("%d of %d right\n", right, cases), ok != 1 || right < cases || !cases;
}
