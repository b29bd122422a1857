"""The codes of bugs that show only in some calls: many at once, steps, training, what surrounds."""

CROWDED = {
    # Frequencies, angles and positions of one call
    "exponents-positive": (
        "Frequencies grow from 1 rad/token up, where they should fall.",
        "the minus of the exponent is lost, or the reciprocal of the power",
        "Write 1 / base ** (2 * i / d), or base ** -(2 * i / d).",
    ),
    "turns-of-a-rounded-pi": (
        "With each whole turn angles are off by the same number more.",
        "angles % 6.2832, or a pi of a few digits",
        "Hand angles to cos and sin as they are, or take 2 * math.pi.",
    ),
    "tokens-mixed": (
        "Among many tokens some come out as others should.",
        "a tile read one token off, or an order of tokens that is not undone",
        "Write each token where it was read, and undo what reorders a sequence.",
    ),
    "order-of-positions-ignored": (
        "Where positions of a call do not rise, tokens get those of others.",
        "position_ids that are sorted or taken to rise",
        "Look tables up by position_ids as they come.",
    ),
    "gaps-ignored": (
        "Spaced positions are turned as if they had no gaps.",
        "position_ids read as their order (argsort of argsort)",
        "Look tables up by position_ids as they come.",
    ),
    "first-token-not-turned": (
        "The first token of a call comes out as it went in, whatever its position.",
        "a first slot left for a class token",
        "Leave position 0 alone, not the first slot.",
    ),
    "axes-told-by-lengths": (
        "Wrong where a call has as many rows or tokens as positions have axes.",
        "the side of the axes found by its length",
        "Fix the place of the axes, and ask no lengths for it. Where text is exchanged so "
        "too, it is called batch-rows-mixed or packed-rows-wrong.",
    ),
    "repeated-positions-moved": (
        "Two tokens at one position are not turned alike.",
        "a position that repeats the one before counted on",
        "Look tables up by position_ids as they come; trees of drafts repeat them.",
    ),
    "table-grown-by-the-last-token": (
        "Far positions are wrong in a call that ends with a near one.",
        "a table as long as the last of position_ids asks for",
        "Grow it to position_ids.max() + 1.",
    ),
    "table-grown-by-the-first-row": (
        "Far positions are wrong in every row but the first.",
        "a table as long as position_ids[0] asks for",
        "Grow it to position_ids.max() + 1, over all rows.",
    ),
    "far-rows-wrong": (
        "Far positions are wrong with position_ids (batch, seq_len) alone.",
        "a path for rows that rounds or clamps positions",
        "Keep positions integers, and use one table for both shapes.",
    ),
    "vectors-of-few-bits": (
        "Vectors are rounded to eight bits or fewer, on the way in or as they come back.",
        "float8 or int8, as a cache keeps them, inside",
        "Diagnose the rotation before it: nothing finer can be judged after.",
    ),
    "rows-turned-otherwise": (
        "Tokens are turned otherwise with position_ids (batch, seq_len) than with (seq_len,).",
        "a path for rows that counts from 1, as a cumsum does, or has a base, layout or factor of "
        "its own",
        "Use one path for both shapes: position_ids[:, None] where there are rows.",
    ),
    "row-of-one-ignored": (
        "position_ids of shape (1, seq_len) are not followed.",
        "a path for one row that counts tokens, or rows that are not broadcast",
        "Take positions of one row as they come, and broadcast them over the batch.",
    ),
    "batch-taken-for-tokens": (
        "Rows of a batch are taken for tokens, always or where they are as many.",
        "position_ids transposed by their shape, arange(seq_len) + offset (batch,), or arange over "
        "the first axis of x",
        "Fix the order of axes, and ask no lengths for it; write offset[:, None].",
    ),
    "square-tables-transposed": (
        "Wrong where there are as many tokens as pairs or dimensions.",
        "tables whose axes are told by their lengths",
        "Fix the order of axes, and ask no lengths for it.",
    ),
    "many-rows-wrong": (
        "In large batches some rows are wrong.",
        "a kernel launched over a fixed number of rows",
        "Launch over as many rows as there are.",
    ),
    "tables-of-an-earlier-call": (
        "Tokens are turned by positions that an earlier call left.",
        "tables kept by a length or the shape of position_ids, or read from their end (cos[-n:])",
        "Keep them by their values, or look them up anew.",
    ),
    "strided-ids-misread": (
        "position_ids that are a slice or an expanded row are misread.",
        "a kernel that reads them as contiguous",
        "Hand it their strides, or call contiguous() before it.",
    ),
    "crowded-call-differs": (
        "Random vectors in one call are turned otherwise than one by one.",
        "a path for large calls, for some sizes, or for two conditions at once",
        "Compare it with the parts of the call, half by half.",
    ),
    "round-sizes-wrong": (
        "A round number of rows, heads or tokens is turned otherwise than one less.",
        "a fast path for sizes that fill its blocks",
        "Compare both paths on random vectors, of sizes that fill blocks and of such as do not.",
    ),
    "training-forward-differs": (
        "Where a gradient is asked for, results are others.",
        "a path for training with tables of its own",
        "Share tables and positions between both paths.",
    ),
    "gradient-overwrites-its-input": (
        "The gradient that comes in is overwritten.",
        "a backward in place",
        "Write into a new tensor: autograd may hand the same one to others.",
    ),
    "gradient-wrong-far": (
        "The gradient of many tokens, or at far positions, is wrong.",
        "a backward with a table or number of tokens of its own",
        "Save what the forward used, and turn back by that.",
    ),
    "gradient-of-another-call": (
        "The gradient is turned back by the positions of the call that came last.",
        "positions or tables kept in common",
        "Save them in the context of each call.",
    ),
    "grouped-gradient-wrong": (
        "With fewer heads of k than of q the gradient is wrong.",
        "a backward with q's number of heads, or stride, for k",
        "Take both from each tensor itself, on the way back too.",
    ),
    "expanded-gradient-misread": (
        "A gradient that repeats numbers in memory, as sum() hands it back, is misread.",
        "a backward kernel that takes no stride to be 0",
        "Call contiguous() on the gradient that comes in, or hand on its strides.",
    ),
    "last-tokens-not-turned": (
        "The last tokens of a call come out as they went in, or as zeros.",
        "a grid of tokens // BLOCK blocks",
        "Launch one block more for the rest, and mask what lies beyond it.",
    ),
    "early-positions-not-turned": (
        "Positions from 0 to some later one come out alike.",
        "rows of zeros before the others of a table, for class tokens or padding",
        "Look the table up behind its n rows of zeros: in table[n:], or at position + n.",
    ),
    "positions-bent": (
        "Angles follow a function of the position, and not the position.",
        "log(1 + p), p // 2, p / seq_len or the like before the product with inv_freq; table rows "
        "read at half their width",
        "Multiply inv_freq by the position itself; linear scaling divides by one number, and "
        "rounds nothing.",
    ),
    "positions-reversed": (
        "Positions are counted back from the end.",
        "length - 1 - position, or a table that is flipped",
        "Count from the first token; a cache only grows at the end.",
    ),
    "long-call-differs": (
        "Many tokens in one call are turned otherwise than in several.",
        "a path, or a number, that the number of tokens decides",
        "Compare the path for long calls with that for their parts.",
    ),
    # Steps of decoding
    "later-chunks-differ": (
        "A chunk of several tokens that is not the first is turned otherwise than in one pass.",
        "one position for all tokens of a chunk, that of its last token for the first, or the "
        "prompt's first positions",
        "Take offset + arange(tokens), whatever the offset; of positions of several axes the "
        "chunk's own slice.",
    ),
    "scaled-in-the-prefill-alone": (
        "A long prompt is turned by scaled frequencies, and steps after it are not.",
        "dynamic NTK or LongRoPE by the number of tokens in the call",
        "Take one length for all calls; or position_ids.max() + 1, and turn cached keys anew.",
    ),
    "length-told-by-one": (
        "Frequencies change with the length, and some far positions do not count for it.",
        "the length of position_ids[0], of the last of them, or their number",
        "Take position_ids.max() + 1, over all rows and in any order.",
    ),
    "short-steps-wrong": (
        "A step of a few tokens is turned otherwise than in one pass.",
        "a path for short calls that takes all tokens for the first, or counts from it or from 0",
        "Look up the position of each token of a step.",
    ),
    "late-steps-wrong": (
        "A token that comes alone late is turned otherwise than in one pass, or refused.",
        "a path for one token that counts within blocks, or a table of its own",
        "Use the positions and tables of the full pass; make these as long as positions ask.",
    ),
    "decay-centered-per-call": (
        "xPos, whose decay is counted from the middle of each call.",
        "(position - seq_len // 2) / scale_base",
        "Count from one place in all calls, such as 0.",
    ),
    "decay-differs-within-pairs": (
        "xPos, whose two dimensions of a pair are scaled differently.",
        "scales tiled beside pairs of neighbors, or repeated beside halves",
        "Arrange scales as the angles are arranged.",
    ),
    "keys-repeated-out-of-order": (
        "k comes back once for each head of q, in another order than its groups.",
        "repeat in place of repeat_interleave",
        "Repeat each head as often as it serves, one after the other.",
    ),
    # What surrounds a call
    "wrong-under-autocast": (
        "Under torch.autocast it is turned otherwise.",
        "angles made by a matrix product, or an einsum that sums, which autocast computes in half "
        "precision",
        "Make angles under torch.autocast(device_type, enabled=False).",
    ),
    "int32-positions-misread": (
        "position_ids of int32 are followed otherwise than those of int64.",
        "a kernel that reads memory as int64 without a look at the dtype",
        "Convert them, or refuse them.",
    ),
    "train-and-eval-differ": (
        "A module in eval mode turns otherwise than in train mode.",
        "frequencies or a table that one of the two modes scales or rebuilds",
        "Use the same tables in both modes.",
    ),
}
