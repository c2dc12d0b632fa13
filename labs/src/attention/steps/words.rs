//! What the learner reads at each step, in order.

use super::{Grid, HEAD_DIM, Head, TOKENS, Walk};
use crate::protocol::{Matrix, Text};

/// One step, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step<'a> {
    /// Name in checks.
    pub(crate) id: &'static str,
    pub(crate) title: Text,
    pub(crate) formula: String,
    pub(crate) explanation: Text,
    /// Operands and result, the result last.
    pub(crate) matrices: Vec<Matrix>,
    /// What the step computed; `None` for the inputs.
    pub(crate) result: Option<&'a Grid>,
}

/// Title, formula and explanation.
struct Words(&'static str, [&'static str; 2], String, [&'static str; 2]);

impl Walk {
    /// The steps, forward and then backward.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        let Head { q, k, v, d_o, .. } = &self.head;
        let (q, k, v) = (("Q", q), ("K", k), ("V", v));
        let d_o = ("dO", d_o);
        let products = ("Q·Kᵀ", &self.products);
        let (scores, masked) = (("S", &self.scores), ("S masked", &self.masked));
        let (weights, output) = (("P", &self.weights), ("O", &self.output));
        let (row_dots, d_v) = (("D", &self.row_dots), ("dV", &self.d_v));
        let (d_weights, d_scores) = (("dP", &self.d_weights), ("dS", &self.d_scores));
        let (d_q, d_k) = (("dQ", &self.d_q), ("dK", &self.d_k));
        vec![
            Step { result: None, ..step(inputs(), &[q, k, v]) },
            step(products_words(), &[q, k, products]),
            step(scale_words(), &[products, scores]),
            step(self.mask_words(), &[scores, masked]),
            step(softmax_words(), &[masked, weights]),
            step(output_words(), &[weights, v, output]),
            step(row_dots_words(), &[d_o, output, row_dots]),
            step(d_v_words(), &[weights, d_o, d_v]),
            step(d_weights_words(), &[d_o, v, d_weights]),
            step(d_scores_words(), &[weights, d_weights, row_dots, d_scores]),
            step(d_q_words(), &[d_scores, k, d_q]),
            step(d_k_words(), &[d_scores, q, d_k]),
        ]
    }

    fn mask_words(&self) -> Words {
        if self.head.causal {
            Words(
                "mask",
                ["Causal mask", "因果掩码"],
                "S[i,j] = −∞ for j > i".into(),
                [
                    "A token may not see those after it, so every score above the diagonal becomes −∞ (shown without a \
                     number). Since exp(−∞) = 0, these places get no weight in the forward and no gradient in the \
                     backward.",
                    "一个 token 不能看到它后面的 token，所以对角线以上的分数都改成 −∞（这里不显示数值）。exp(−∞) = 0，\
                     这些位置前向拿不到权重，反向也没有梯度。",
                ],
            )
        } else {
            Words(
                "mask",
                ["No mask", "不加掩码"],
                "causal = no".into(),
                [
                    "Every token sees every other, so the scores stay as they are. With causal = yes, those above the \
                     diagonal would become −∞.",
                    "每个 token 都能看到所有 token，分数原样保留。若设 causal = yes，对角线以上会变成 −∞。",
                ],
            )
        }
    }
}

fn step<'a>(words: Words, grids: &[(&str, &'a Grid)]) -> Step<'a> {
    let Words(id, [title_en, title_zh], formula, [en, zh]) = words;
    Step {
        id,
        title: Text::new(title_en, title_zh),
        formula,
        explanation: Text::new(en, zh),
        matrices: grids.iter().map(|(name, grid)| grid.matrix(name)).collect(),
        result: grids.last().map(|(_, grid)| *grid),
    }
}

fn inputs() -> Words {
    Words(
        "inputs",
        ["One small head", "一个小头"],
        format!("Q, K, V: n × d = {TOKENS} × {HEAD_DIM}"),
        [
            "Five tokens with four small whole numbers each, so that every product can be followed by hand. Row i of Q \
             is what token i looks for, row j of K is what token j answers to, row j of V is what it hands over.",
            "5 个 token，每个 4 个小整数，每一次乘加都能手算。Q 的第 i 行是 token i 要找什么，K 的第 j 行是 token j \
             拿什么来应答，V 的第 j 行是它交出去的内容。",
        ],
    )
}

fn products_words() -> Words {
    Words(
        "products",
        ["Scores: every query with every key", "分数：每个查询对每个键"],
        "Q·Kᵀ".into(),
        [
            "Entry (i, j) is the dot product of row i of Q and row j of K. The result is n × n whatever d is: this is \
             the matrix that grows with the square of the length.",
            "第 (i, j) 项是 Q 第 i 行与 K 第 j 行的点积。结果是 n × n，与 d 无关：随序列长度平方增长的就是这个矩阵。",
        ],
    )
}

fn scale_words() -> Words {
    Words(
        "scale",
        ["Scale", "缩放"],
        format!("S = Q·Kᵀ / √d, √{HEAD_DIM} = 2"),
        [
            "A dot product of d independent numbers spreads like √d; dividing by it keeps the softmax from putting all \
             weight on one entry. The backward of dQ and dK will carry the same factor.",
            "d 个独立的数做点积，结果的离散程度随 √d 增大；除以 √d，softmax 才不会把权重全压到一项上。反向求 dQ、dK \
             时会带着同一个系数。",
        ],
    )
}

fn softmax_words() -> Words {
    Words(
        "softmax",
        ["Softmax, row by row", "逐行 softmax"],
        "P[i,j] = exp(S[i,j]) / Σⱼ exp(S[i,j])".into(),
        [
            "Each row becomes weights that add up to 1; its largest entry is subtracted first, so that exp cannot \
             overflow. Naive attention keeps all of P for the backward; a fused kernel keeps one number a row, the \
             log-sum-exp, and computes P again.",
            "每一行变成总和为 1 的权重；先减去行内最大值，exp 就不会溢出。朴素实现要把整个 P 留到反向；融合内核每行只留\
             一个数（log-sum-exp），反向时重算 P。",
        ],
    )
}

fn output_words() -> Words {
    Words(
        "output",
        ["Output: a weighted mean of V", "输出：V 的加权平均"],
        "O = P·V".into(),
        [
            "Row i of O is the mean of the rows of V, weighted by row i of P. The forward ends here; the same head \
             through scaled_dot_product_attention gives the same numbers.",
            "O 的第 i 行是 V 各行的加权平均，权重取自 P 的第 i 行。前向到此结束；同一个头交给 \
             scaled_dot_product_attention，结果一致。",
        ],
    )
}

fn row_dots_words() -> Words {
    Words(
        "row_dots",
        ["Backward begins: one number a row", "反向第一步：每行一个数"],
        "D = rowsum(dO∘O)".into(),
        [
            "dO is the gradient that arrives at the output. D equals the row sums of P∘dP, which the backward of the \
             softmax needs, but it comes from two n × d matrices: a fused kernel gets it without an n × n one.",
            "dO 是从后面传到输出的梯度。D 恰好等于 P∘dP 的行和，softmax 的反向要用它；而它只用两个 n × d 矩阵就能算出，\
             融合内核因此不必存 n × n 的矩阵。",
        ],
    )
}

fn d_v_words() -> Words {
    Words(
        "dv",
        ["Gradient of V", "V 的梯度"],
        "dV = Pᵀ·dO".into(),
        [
            "O is linear in V, so row j of dV collects the rows of dO, each with the weight that its token gave to j. \
             Under a causal mask the last token is seen by itself alone, so its row has a single term.",
            "O 对 V 是线性的，所以 dV 的第 j 行把 dO 各行加起来，权重就是各 token 当初分给 j 的那份。因果掩码下，最后\
             一个 token 只有自己看得到，那一行只有一项。",
        ],
    )
}

fn d_weights_words() -> Words {
    Words(
        "dp",
        ["Gradient of the weights", "权重的梯度"],
        "dP = dO·Vᵀ".into(),
        [
            "Entry (i, j) says how the loss would move if token i gave j a little more weight. It is n × n again, and \
             it has numbers even where the mask is: P will remove them.",
            "第 (i, j) 项表示：若 token i 给 j 的权重多一点，损失会怎么变。它又是 n × n，被掩码的位置也有数，下一步乘 P \
             时才归零。",
        ],
    )
}

fn d_scores_words() -> Words {
    Words(
        "ds",
        ["Back through the softmax", "穿过 softmax"],
        "dS = P∘(dP − D)".into(),
        [
            "A row's weights always add up to 1, so only the part of dP above or below its weighted mean D can move \
             them. Each row of dS therefore adds up to 0, and where P is 0, dS is too.",
            "一行的权重总和恒为 1，所以 dP 里只有偏离加权平均 D 的部分才起作用。于是 dS 每行之和为 0，P 为 0 的地方 dS \
             也为 0。",
        ],
    )
}

fn d_q_words() -> Words {
    Words(
        "dq",
        ["Gradient of Q", "Q 的梯度"],
        "dQ = dS·K / √d".into(),
        [
            "Row i of dQ adds up the rows of K, weighted by row i of dS. The factor is the forward's scale, because S \
             holds Q·Kᵀ divided by √d.",
            "dQ 的第 i 行是 K 各行按 dS 第 i 行加权求和。系数就是前向的缩放，因为 S 是 Q·Kᵀ 除以 √d。",
        ],
    )
}

fn d_k_words() -> Words {
    Words(
        "dk",
        ["Gradient of K", "K 的梯度"],
        "dK = dSᵀ·Q / √d".into(),
        [
            "The same with rows and columns exchanged: row j of dK adds up the rows of Q. dV, dP, dQ, dK and the \
             recomputed Q·Kᵀ are the five products of a fused backward, against two in the forward: 2.5 times.",
            "行列对调，道理相同：dK 的第 j 行是 Q 各行的加权和。dV、dP、dQ、dK 加上重算的 Q·Kᵀ，融合反向一共五次矩阵乘，\
             前向两次，这就是 2.5 倍的来历。",
        ],
    )
}
