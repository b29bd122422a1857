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
static int grade(double x, double want, double angle, double r) {  // 3 right, 1 as float32 angles, 0 wrong
    double off = fabs(x - want) - (0x1p-22 + BETWEEN) * r - ldexp(1, ilogb(fmax(fabs(want), 0x1p-126)) - 24);
    return off <= fmin(ANGLES * angle, 1.0 / 16) * r ? 3 : off <= fmin(0x1p-19 * angle, 1.0 / 16) * r;
}
static int agree(double *x, const double *want, int heads) {
    int tokens = (int)of[SHAPE][4], all = (int)of[SHAPE][1] * tokens, width = (int)*of[WIDTH], got = 3;
    for (int j = 0; j < all * heads; j++, x += width, want += width) {
        int token = j / (heads * tokens) * tokens + j % tokens;  // among those of all rows
        for (int i = 0; i < pairs; i++) places[i] = of[IDS][(int)of[AXIS][i] * all + token];
        rotate(x, places, of[FREQ], *of[BY]);
        for (int i = 0; i < pairs; i++) {
            int a = half ? i : 2 * i, b = half ? i + pairs : a + 1, k = token * pairs + i;
            double angle = places[i] * of[FREQ][i], by = *of[BY], r = hypot(want[a], want[b]);
            if (!(hypot(by * cos(angle) - of[COS][k], by * sin(angle) - of[SIN][k]) < 2e-8)) return 0;
            got &= grade(x[a], want[a], fabs(angle), r) & grade(x[b], want[b], fabs(angle), r);
        }
        for (int i = 2 * pairs; i < width; i++) if (x[i] != want[i]) return 0;
    }
    return got;
}
int main(void) {
    int n, all = 0, right = 0, more = 0, ok = scanf("format 1 1 generator 1 %d", &n);
    for (int line = 0; ok == 1 && scanf("%*s %d", &n) == 1; line = (line + 1) % (K_OUT + 1)) {
        for (int i = 0; i < n; i++) ok = line < SHAPE ? scanf("%4095s", words[line]) : scanf("%lf", &of[line][i]);
        if (line == FREQ) pairs = n, half = *words[LAYOUT] == 'h';
        n = line < K_OUT ? 0 : agree(of[Q], of[Q_OUT], (int)of[SHAPE][2]) & agree(of[K], of[K_OUT], (int)of[SHAPE][3]);
        if (line == K_OUT) printf("%s %s\n", n > 1 ? "right" : "wrong", *words), all++, right += n > 1, more += n == 1;
    }
    if (more) printf("%d more are right with ANGLES = 0x1p-19, as float32 angles are\n", more);
    return printf("%d of %d right\n", right, all), ok != 1 || right < all || !all;
}
