"""Every code of a bug: what it says, what usually lies behind it, how it is mended."""

from ropelib.diagnosis.codes_compared import COMPARED
from ropelib.diagnosis.codes_crowded import CROWDED

WRONG = {
    # Nothing that can be measured
    "call-raises": (
        "An ordinary call raises.",
        "an argument of another kind or shape than it is written for, or a table that ends before",
        "Give a table a row for each position. Adapt another form: seq_first, from_tables, "
        "from_module, from_offset, from_counting, or a lambda of (x, position_ids).",
    ),
    "call-hangs": (
        "A call does not come back.",
        "a loop that never ends, a lock, another process that is waited for",
        "Let it rotate alone in one process, or allow a slow one more: timeout=.",
    ),
    "shape-not-kept": (
        "The result has another shape than x.",
        "an axis that is moved, merged or added on the way out",
        "Return x's own shape.",
    ),
    "not-finite": (
        "The result holds infinities, or no numbers.",
        "a division by zero, memory nobody has written, numbers above 65504 in float16",
        "Write every element; divide by nothing that can be 0; keep numbers and factors small.",
    ),
    "device-not-kept": (
        "The result lies on another device than x.",
        "a table, or a copy, that is made on a device by name",
        "Make tables where x is: device=x.device.",
    ),
    # Results
    "not-deterministic": (
        "The same call gives different results.",
        "dropout, noise, or a state that calls change",
        "Take the randomness out, or make the state an argument.",
    ),
    "heads-differ": (
        "Heads are turned differently.",
        "tables with an axis of heads, or a loop or slice that rotates some heads only",
        "Give all heads one cos and sin; transpose, not view; what differs, hand over one by one.",
    ),
    "heads-mixed": (
        "A head comes out otherwise beside others than alone.",
        "a kernel for blocks of heads, or with q's number of heads for k",
        "Transpose, not view; take the number of heads and the strides of each tensor from itself.",
    ),
    "rotates-by-head": (
        "The head decides the angle where the token should.",
        "tables that lack an axis for the heads, or are made as long as that",
        "Make cos and sin as long as the tokens, and unsqueeze them at the axis of the heads.",
    ),
    "takes-sequence-first": (
        "It is right for x of shape (batch, seq_len, num_heads, head_dim).",
        "a function for the other order of axes",
        "Transpose x before and after, or wrap it in seq_first to have it judged.",
    ),
    "adds-a-vector": (
        "A vector of zeros does not stay zero.",
        "an additive encoding, or a bias after the rotation",
        "Multiply pairs by cos and sin; add nothing.",
    ),
    "not-linear": (
        "The result for a sum of vectors is not the sum of the results.",
        "a normalization inside the rotation, or values that are cut off",
        "Normalize q and k, or cut them off, before the rotation.",
    ),
    "does-not-rotate": (
        "Every position gives the same result.",
        "the rotated tensor is dropped, or all angles are zero",
        "Return the rotated tensor, and fill inv_freq.",
    ),
    "norm-not-kept": (
        "Lengths change with the position or by pair, or x is scaled, as by a root of the width.",
        "cos and sin of different angles in one pair, or another factor moved in",
        "Take both tables of a pair from one angle, times one factor or none, and scale no more.",
    ),
    # Pairs
    "factor-changes-midway": (
        "From some position on vectors have another length.",
        "a table grown without its factor (mscale)",
        "Grow it with the factor that it was made with.",
    ),
    "not-pairwise": (
        "Dimensions do not turn in pairs.",
        "another encoding, or two layouts in one rotation",
        "Take a and b by one layout, and cos and sin by the same.",
    ),
    "minus-sign-missing": (
        "Both dimensions of a pair take the other with the same sign.",
        "a rotated copy (b, a)",
        "Make it (-b, a).",
    ),
    "cosine-negated": (
        "One dimension of each pair has a minus before its cosine.",
        "x negated in place, on the way to the rotated copy; a sign on the wrong term",
        "Negate a copy, -b and not b.neg_(); write a cos - b sin for a, b cos + a sin for b.",
    ),
    "pair-overwritten": (
        "One dimension of a pair is made of the other one as it was already turned.",
        "an assignment in place, one line after the other",
        "Keep a copy of the first until both are made.",
    ),
    "lines-miswritten": (
        "A line of a pair (a, b) is neither a cos - b sin nor b cos + a sin, or one stands twice.",
        "a copied line with a letter left in it, a line that is missing, or one table handed twice",
        "Write a cos - b sin for a, and b cos + a sin for b.",
    ),
    "table-read-in-another-order": (
        "One table holds cosines and sines, and is read in another order than it is written.",
        "[cos | sin] for [cos sin cos sin ..]",
        "Read it as it is written.",
    ),
    "half-angles-on-interleaved-pairs": (
        "Pairs are neighbors, and angles are tiled as for halves.",
        "torch.cat of the angles beside a rotated copy of neighbors",
        "Repeat each angle with repeat_interleave(2, dim=-1).",
    ),
    "interleaved-angles-on-half-pairs": (
        "Pairs are halves, and angles are repeated as for neighbors.",
        "repeat_interleave beside rotate_half",
        "Tile the angles: torch.cat((angles, angles), dim=-1).",
    ),
    "angles-differ-within-pairs": (
        "The two dimensions of a pair turn by different angles.",
        "cos and sin in another order than the pairs, or cut from tables of the whole head",
        "Arrange cos and sin as the rotated copy is arranged, as wide as what turns.",
    ),
    "tables-half-width": (
        "One entry for each pair meets two: cos and sin, or x, are half as wide as the other.",
        "the formula with d/2 entries, taken literally, or x1 * cos for x * cos",
        "Repeat each entry of cos and sin as the layout asks, and multiply all of x by them.",
    ),
    "last-pair-not-rotated": (
        "The slowest pair alone stands still: of neighbors, or where it is expected to turn; or, "
        "of widths that fill no blocks, the pairs of the last one.",
        "a loop or slice that ends one pair early, or over whole blocks alone",
        "Count pairs from 0 to d/2 - 1, both included.",
    ),
    "sin-and-cos-swapped": (
        "Cosine and sine have changed places, in both lines of a pair or in one.",
        "tables handed over as (sin, cos), or a line written so",
        "Exchange the two arguments; where it is one line, sin and cos in that line.",
    ),
    "sine-is-zero": (
        "Only the cosine is there: dimensions never meet their partners.",
        "a table of sin, or a rotated copy, that is zero or lost",
        "Add the rotated copy times sin.",
    ),
    "sine-partly-zero": (
        "Some dimensions have their cosine and no sine.",
        "a table of sin that is filled, or read, for some of the pairs",
        "Fill sin as cos is filled.",
    ),
    "rest-not-kept": (
        "Dimensions that do not turn come out as zeros, or scaled.",
        "a result made by zeros_like, of which the turning part alone is written",
        "Join the turned part and the rest of x, as it is.",
    ),
    "sines-of-other-pairs": (
        "Pairs have their own cosine and another pair's sine.",
        "sine read from where a padded or wider table would have it",
        "Split the table at its real width.",
    ),
    # Frequencies
    "exponents-from-a-half": (
        "Pairs are counted half a step late.",
        "the exponent (2i - 1)/d for pairs counted from 1",
        "Take 2(i - 1)/d, or 2i/d with i from 0.",
    ),
    "frequencies-unfilled": (
        "Frequencies are zero here and there, alike but not 1, shuffled, or repeated in no order.",
        "a buffer that was made on the meta device and never filled; of one pair that turns alone: "
        "exponents without their denominator, or a base above 65504 in float16",
        "Compute all of inv_freq after to_empty().",
    ),
    "base-beyond-sense": (
        "The base is above 1e15, or leaves few pairs that turn; at most 1.5, e, or a usual one to "
        "the power of 1 / heads.",
        "exponents without their denominator, with that of all heads, or of an integer division; "
        "exp without log(base); of a part, partners half a head apart",
        "Write base ** -(2 * i / head_dim), of floats; pair (i, i + rotary_dim / 2) in a part.",
    ),
    "angles-in-degrees": (
        "All frequencies are divided by 57.2958.",
        "deg2rad, or a factor of pi / 180, on angles that are radians already",
        "Hand angles to cos and sin as they are; frequencies-multiplied are ones left in degrees.",
    ),
    "frequencies-multiplied": (
        "All frequencies are multiplied by one factor above 1.",
        "positions doubled, x rotated twice, linear scaling multiplied, or angles left in degrees",
        "Rotate once, at the true position, by radians; linear scaling divides.",
    ),
    "exponents-from-one": (
        "Pairs are counted from 1: each turns as the next should.",
        "a formula with i = 1 .. d/2, taken literally",
        "Use the exponent 2i/d with i from 0.",
    ),
    "inverted-ramp": (
        "The blend of YaRN or Llama 3 is upside down: fast pairs are slowed, slow ones left.",
        "ramp where 1 - ramp is meant, or beta_fast and beta_slow exchanged",
        "Keep what turns often within the training length; divide the rest.",
    ),
    "frequencies-in-bfloat16": (
        "Frequencies are rounded to 8 significant bits.",
        "model.bfloat16() takes inv_freq along",
        "Keep inv_freq in float32, or compute it anew after the cast.",
    ),
    "frequencies-in-float16": (
        "Frequencies are rounded to 11 significant bits, and those below 0.00006 to fewer.",
        "model.half() takes inv_freq along; or a product in TF32, where none is below 0.00006",
        "Keep inv_freq in float32, or compute it anew after the cast; multiply elementwise.",
    ),
    "frequencies-in-tf32": (
        "Frequencies are rounded to 11 significant bits.",
        "a matrix product in TF32",
        "Multiply positions and frequencies elementwise.",
    ),
    # Positions and angles
    "position-ids-ignored": (
        "Tokens are turned by their slot, whatever position_ids say.",
        "arange(seq_len) inside",
        "Look angles up by position_ids.",
    ),
    "positions-restart": (
        "Positions are counted from the first, or the last, of each call.",
        "position_ids - position_ids[0], or - position_ids.max(); an offset that is dropped",
        "Take position_ids as they come; hand an offset on.",
    ),
    "off-by-one": (
        "Every position is shifted by one; where q and k both are, scores stay right.",
        "positions counted from 1, or taken after the new token was counted",
        "Let the first token be 0.",
    ),
    "positions-shifted": (
        "All positions of a call, or of an axis, are shifted by one number; scores within it fit.",
        "an offset added twice, one of another sequence, or one that counts the new tokens",
        "Let the first token be 0; add an offset once, as it was before new tokens were counted.",
    ),
    "turned-at-position-0": (
        "Position 0 is turned, and no shift explains it.",
        "an angle added to all, or cosines of the angles taken for angles",
        "Make angles the position times the frequency, and no more.",
    ),
    "not-relative": (
        "A score depends on where two tokens stand, not only on their distance.",
        "angles that are not proportional to the position",
        "Make angles the position times the frequency.",
    ),
    "axis-ignored": (
        "A step along one of several axes turns nothing.",
        "position_ids[0], or positions of text for an image",
        "Hand all axes on, and let each turn its own pairs.",
    ),
    "axes-summed": (
        "Pairs follow one sum of the axes, or a difference that text does not show.",
        "row * width + column in place of row and column; height - width",
        "Let each axis turn its own pairs.",
    ),
    "image-places-wrong": (
        "Where axes differ tokens are turned otherwise than by the sum of their axes.",
        "a path for images with tables, positions or an order of its own",
        "Rotate images by the same code as text, with the position on each axis.",
    ),
    "grid-transposed": (
        "In a square image rows are taken for columns.",
        "an order of tokens or sides told by lengths that are equal",
        "Fix the order of height and width, and ask no lengths for it.",
    ),
    "axes-ordered-by-size": (
        "Places come out alike where two axes are exchanged.",
        "height and width sorted by size, or exchanged in tall images",
        "Fix the order of height and width, and ask no sizes for it.",
    ),
    "text-turned-otherwise": (
        "Where all axes agree a token is turned otherwise than its axes turn it.",
        "a path of its own for text",
        "Rotate text by the same sections and frequencies.",
    ),
    "angles-drift": (
        "From some position on angles are not the position times the frequency.",
        "angles summed in low precision, a table that goes on with other frequencies or has coarse "
        "steps, or sines of the angles taken for angles",
        "Compute each angle from its position, with the frequencies in use.",
    ),
    "frequencies-change-midway": (
        "From some position on frequencies are others.",
        "a table grown without the scaling",
        "Grow it with the frequencies that it was made with.",
    ),
    "positions-clamped": (
        "All positions from some length on are turned alike, or all below a window.",
        "a table that ends there, indexed with a clamp; a clamp by the largest position",
        "Grow the table, or compute angles from the position as it is.",
    ),
    "table-read-past-its-end": (
        "From some position on lengths and angles are those of other memory.",
        "a table that ends there, read on without a check",
        "Grow the table, or compute angles as needed.",
    ),
    "positions-wrap-around": (
        "Positions begin again from some length on.",
        "positions modulo the length of a table, or cast to uint8, int8 or int16",
        "Grow the table, or compute angles as needed.",
    ),
    "positions-in-bfloat16": (
        "Positions are rounded: from 257 on neighbors coincide.",
        "arange or position_ids in the dtype of x",
        "Keep positions integers until they are multiplied in float32.",
    ),
    "positions-in-float16": (
        "Positions are rounded: from 2049 on neighbors coincide.",
        "positions in float16, as by .half(), or in the dtype of x",
        "Keep positions integers until they are multiplied in float32.",
    ),
    "positions-in-tf32": (
        "Positions are rounded: from 2049 on neighbors coincide.",
        "a matrix product in TF32, which rounds frequencies as well, or positions in float16",
        "Keep positions integers, and multiply them elementwise in float32.",
    ),
    "angles-in-bfloat16": (
        "Angles are rounded to 8 significant bits.",
        "positions, frequencies and product in the dtype of a model",
        "Make angles in float32, and cast cos and sin.",
    ),
    "angles-in-float16": (
        "Angles are rounded to 11 significant bits.",
        "positions, frequencies and product in the dtype of a model",
        "Make angles in float32, and cast cos and sin.",
    ),
    "angles-in-tf32": (
        "Angles are rounded to 11 significant bits, after an exact product.",
        "angles that go through a matrix product in TF32, or are cast to float16",
        "Keep angles in float32 up to cos and sin, and multiply elementwise.",
    ),
    # Batches, decoding, memory, training
    "batch-rows-share-positions": (
        "All rows of a batch are turned by the positions of the first.",
        "position_ids[0], or tables without a batch axis",
        "Look tables up by all of position_ids.",
    ),
    "batch-rows-mixed": (
        "A row is turned otherwise in a batch than alone.",
        "an axis of the tables that broadcasts against heads or batch; a path for several rows",
        "Give tables an axis for the batch, and one of length 1 where x has its heads.",
    ),
    "packed-rows-wrong": (
        "A second document in a row, or one behind padding, is turned otherwise than alone.",
        "positions taken to rise through a row, or counted on from its first",
        "Index tables by position_ids.",
    ),
    "one-token-rows-wrong": (
        "In a batch of single tokens rows are zero or wrong.",
        "a kernel that takes tokens for rows, or a fast path for one token",
        "Launch over rows times tokens, and test a batch of one token each.",
    ),
    "decode-restarts-at-zero": (
        "A token that comes alone is turned as if at position 0.",
        "arange over the tokens of the step",
        "Add the length of the cache.",
    ),
    "decode-off-by-one": (
        "A token that comes alone stands one too early or too late.",
        "the length of the cache taken before, or after, the token is in it",
        "The first token after n cached ones is at position n.",
    ),
    "decode-forgets-the-prompt": (
        "Decoding counts from its own first step.",
        "the length of the prompt not added",
        "Add the length of the cache.",
    ),
    "decode-differs": (
        "A sequence in chunks is turned otherwise than in one pass.",
        "positions or tables of a step that are not those of the full pass",
        "Share the code; the step's own bug is named where it shows in its angles.",
    ),
    "cached-keys-keep-old-frequencies": (
        "Frequencies change with the length, and cached keys keep the old ones.",
        "dynamic NTK or LongRoPE with rotated keys in the cache",
        "Fix the length, cache keys before the rotation, or rotate them again.",
    ),
    "frequencies-stay-grown": (
        "A short call after a long one is turned otherwise than before it.",
        "dynamic NTK whose base is not scaled back; a table that is grown from rounded inv_freq",
        "Take one length for all calls, and keep inv_freq in float32; or turn cached keys anew.",
    ),
    "single-positions-wrong": (
        "Single positions are turned otherwise than their neighbors.",
        "a table filled in blocks, with a row left out",
        "Fill the table in one expression, and compare it with angles computed anew.",
    ),
    "half-precision-differs": (
        "Vectors of half precision are rotated otherwise, by more than rounding.",
        "a fast path that lacks the factor, the rows, the layout or the frequencies",
        "Test the path that is used: in its dtype, with rows and single tokens.",
    ),
    "result-overwritten": (
        "Each call returns the same memory.",
        "one output buffer that is kept",
        "Return a tensor of its own, or clone it where it is kept.",
    ),
    "position-ids-overwritten": (
        "position_ids are changed by the call.",
        "an operation in place",
        "Write position_ids + offset, not +=.",
    ),
    "position-0-lost": (
        "Position 0 is turned as another, and all others are right.",
        "clamp(min=1), or 0 taken for padding",
        "Let 0 be a position like all others.",
    ),
    "strides-ignored": (
        "The same values in another order of memory give another result.",
        "a kernel that reads x, or the gradient, as contiguous",
        "Hand it the strides, or call contiguous() before it.",
    ),
    "grouped-queries-wrong": (
        "With fewer heads of k than of q results are others.",
        "the number of heads or stride of one taken for the other",
        "Take both from each tensor itself.",
    ),
    "wrong-at-other-widths": (
        "Vectors of two widths are taken, and one of them is not rotated rightly.",
        "a width padded to a power of two, or one written into the code",
        "Use the real width, or refuse others.",
    ),
    "gradient-rotates-forward": (
        "The gradient is turned forward once more.",
        "a backward that calls the forward",
        "Use -sin in the backward.",
    ),
    "tables-stay-rounded": (
        "After a call in half precision float32 is rotated otherwise.",
        "tables, or frequencies, that are cast and kept",
        "Cast what is used, and keep what is made.",
    ),
    "large-values-changed": (
        "Large vectors are turned otherwise than small ones.",
        "a clamp, or whole numbers of a fixed step inside",
        "Cut nothing off inside; rotate in the dtype of x, or in float32.",
    ),
    "gradient-wrong": (
        "The gradient is not that of the rotation.",
        "a backward written by hand; detach() on the part that passes",
        "Rotate by minus the angle and keep the factor; test with gradcheck; no detach().",
    ),
    **(CROWDED | COMPARED),
}
