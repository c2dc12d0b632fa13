//! A decoder with random weights, and one step of it.

use tch::{Device, Kind, TchError, Tensor};

use crate::kv_cache::{Attention, Latent, ModelShape};
use crate::torch::Error;

/// Usual standard deviation of the weights: the residual stream neither dies nor overflows in 16 bit.
pub(super) const SPREAD: f64 = 0.02;

/// Weights of a model. Every matrix is `[out, in]`, or `[heads, in, out]` where each head has its own.
pub(super) struct Model {
    pub(super) shape: ModelShape,
    pub(super) embedding: Tensor,
    pub(super) blocks: Vec<Block>,
}

/// One block.
pub(super) struct Block {
    pub(super) norm: Tensor,
    pub(super) projections: Projections,
    pub(super) out: Tensor,
    pub(super) mlp: Option<Mlp>,
}

/// What turns the residual stream into queries and cache rows.
pub(super) enum Projections {
    /// Queries, keys and values in one matrix.
    Heads { qkv: Tensor },
    /// MLA, absorbed: `key_up` goes to the query and `value_up` to the output, so the cache is read as it is.
    Latent {
        sizes: Latent,
        /// To the query's latent, the cached latent and the shared key part, in one matrix.
        down: Tensor,
        query_norm: Tensor,
        latent_norm: Tensor,
        query_up: Tensor,
        /// `[heads, nope, latent]`.
        key_up: Tensor,
        /// `[heads, latent, value]`.
        value_up: Tensor,
    },
}

/// Gated MLP.
pub(super) struct Mlp {
    pub(super) norm: Tensor,
    /// Gate and up in one matrix.
    pub(super) gate_up: Tensor,
    pub(super) down: Tensor,
}

impl Model {
    /// Normally distributed weights of standard deviation `spread`; norms scale by 1.
    pub(super) fn random(shape: ModelShape, spread: f64, kind: Kind, device: Device) -> Result<Self, Error> {
        let matrix = |size: &[u64]| {
            let size: Vec<i64> = size.iter().map(|n| *n as i64).collect();
            Tensor::f_empty(&size, (kind, device))?.f_normal_(0.0, spread)
        };
        let ones = |n: u64| Tensor::f_ones([n as i64], (kind, device));
        let c = shape.hidden;
        let block = || -> Result<Block, TchError> {
            let (projections, values) = match shape.attention {
                Attention::Heads { heads, kv_heads, head_dim } => {
                    let qkv = matrix(&[(heads + 2 * kv_heads) * head_dim, c])?;
                    (Projections::Heads { qkv }, heads * head_dim)
                }
                Attention::Latent(m) => {
                    let projections = Projections::Latent {
                        sizes: m,
                        down: matrix(&[m.query_latent + m.latent + m.rope, c])?,
                        query_norm: ones(m.query_latent)?,
                        latent_norm: ones(m.latent)?,
                        query_up: matrix(&[m.heads * (m.nope + m.rope), m.query_latent])?,
                        key_up: matrix(&[m.heads, m.nope, m.latent])?,
                        value_up: matrix(&[m.heads, m.latent, m.value])?,
                    };
                    (projections, m.heads * m.value)
                }
            };
            let mlp = if shape.ff > 0 {
                let (gate_up, down) = (matrix(&[2 * shape.ff, c])?, matrix(&[c, shape.ff])?);
                Some(Mlp { norm: ones(c)?, gate_up, down })
            } else {
                None
            };
            Ok(Block { norm: ones(c)?, projections, out: matrix(&[c, values])?, mlp })
        };
        let blocks = (0..shape.layers).map(|_| block()).collect::<Result<_, _>>()?;
        Ok(Self { shape, embedding: matrix(&[shape.vocab, c])?, blocks })
    }

    /// The same numbers, rounded to `kind`, on `device`.
    pub(super) fn to(&self, kind: Kind, device: Device) -> Result<Self, Error> {
        let copy = |t: &Tensor| t.f_to_device(device)?.f_to_kind(kind);
        let block = |b: &Block| -> Result<Block, TchError> {
            let projections = match &b.projections {
                Projections::Heads { qkv } => Projections::Heads { qkv: copy(qkv)? },
                Projections::Latent { sizes, down, query_norm, latent_norm, query_up, key_up, value_up } => {
                    Projections::Latent {
                        sizes: *sizes,
                        down: copy(down)?,
                        query_norm: copy(query_norm)?,
                        latent_norm: copy(latent_norm)?,
                        query_up: copy(query_up)?,
                        key_up: copy(key_up)?,
                        value_up: copy(value_up)?,
                    }
                }
            };
            let mlp = match &b.mlp {
                Some(m) => {
                    Some(Mlp { norm: copy(&m.norm)?, gate_up: copy(&m.gate_up)?, down: copy(&m.down)? })
                }
                None => None,
            };
            Ok(Block { norm: copy(&b.norm)?, projections, out: copy(&b.out)?, mlp })
        };
        let blocks = self.blocks.iter().map(block).collect::<Result<_, _>>()?;
        Ok(Self { shape: self.shape, embedding: copy(&self.embedding)?, blocks })
    }

    /// One token of every sequence, `x [b]`, to its logits `[b, vocab]`. `attend` is given the layer, its queries
    /// `[b, heads, …]` and the row that each token adds to the cache `[b, …]`.
    pub(super) fn step(
        &self,
        x: &Tensor,
        mut attend: impl FnMut(usize, &Tensor, &Tensor) -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        let mut stream = self.embedding.f_index_select(0, x)?;
        for (layer, block) in self.blocks.iter().enumerate() {
            let (q, row) = block.projections.project(&norm(&stream, &block.norm)?, self.shape)?;
            let attended = block.projections.values(&attend(layer, &q, &row)?)?;
            add_product(&mut stream, &attended, &block.out)?;
            if let Some(mlp) = &block.mlp {
                let ff = self.shape.ff as i64;
                let both = product(&norm(&stream, &mlp.norm)?, &mlp.gate_up)?;
                let mut gated = both.f_narrow(1, 0, ff)?.f_silu()?;
                let _ = gated.f_mul_(&both.f_narrow(1, ff, ff)?)?;
                add_product(&mut stream, &gated, &mlp.down)?;
            }
        }
        Ok(product(&stream, &self.embedding)?)
    }

    /// Every matrix that a step reads whole.
    pub(super) fn matrices(&self) -> Vec<&Tensor> {
        let mut all: Vec<&Tensor> = Vec::new();
        for block in &self.blocks {
            match &block.projections {
                Projections::Heads { qkv } => all.push(qkv),
                Projections::Latent { down, query_up, key_up, value_up, .. } => {
                    all.extend([down, query_up, key_up, value_up]);
                }
            }
            all.push(&block.out);
            if let Some(mlp) = &block.mlp {
                all.extend([&mlp.gate_up, &mlp.down]);
            }
        }
        all.push(&self.embedding);
        all
    }
}

impl Projections {
    /// Queries and cache rows of the normed stream `y [b, hidden]`.
    fn project(&self, y: &Tensor, shape: ModelShape) -> Result<(Tensor, Tensor), TchError> {
        let b = y.size()[0];
        match (self, shape.attention) {
            (Self::Heads { qkv }, Attention::Heads { heads, kv_heads, head_dim }) => {
                let (h, hk, d) = (heads as i64, kv_heads as i64, head_dim as i64);
                let all = product(y, qkv)?;
                let q = all.f_narrow(1, 0, h * d)?.f_view_([b, h, d])?;
                let row = all.f_narrow(1, h * d, 2 * hk * d)?.f_view_([b, 2, hk, d])?;
                Ok((q, row))
            }
            (Self::Latent { sizes, down, query_norm, latent_norm, query_up, key_up, .. }, _) => {
                let (ql, lat, rope) = (sizes.query_latent as i64, sizes.latent as i64, sizes.rope as i64);
                let all = product(y, down)?;
                let latent = norm(&all.f_narrow(1, ql, lat)?, latent_norm)?;
                let row = Tensor::f_cat(&[latent, all.f_narrow(1, ql + lat, rope)?], 1)?;
                let nope = sizes.nope as i64;
                let q = product(&norm(&all.f_narrow(1, 0, ql)?, query_norm)?, query_up)?;
                let q = q.f_view_([b, sizes.heads as i64, nope + rope])?;
                let absorbed = q.f_narrow(2, 0, nope)?.f_transpose(0, 1)?.f_bmm(key_up)?.f_transpose(0, 1)?;
                Ok((Tensor::f_cat(&[absorbed, q.f_narrow(2, nope, rope)?], 2)?, row))
            }
            (Self::Heads { .. }, Attention::Latent(_)) => unreachable!("weights are made for their shape"),
        }
    }

    /// What attention returned, `[b, heads, …]`, as the input of the output matrix, `[b, heads·value]`.
    fn values(&self, attended: &Tensor) -> Result<Tensor, TchError> {
        let b = attended.size()[0];
        match self {
            Self::Heads { .. } => attended.f_reshape([b, -1]),
            Self::Latent { value_up, .. } => {
                attended.f_transpose(0, 1)?.f_bmm(value_up)?.f_transpose(0, 1)?.f_reshape([b, -1])
            }
        }
    }
}

/// `x·Wᵀ`.
pub(super) fn product(x: &Tensor, matrix: &Tensor) -> Result<Tensor, TchError> {
    x.f_linear(matrix, None::<&Tensor>)
}

/// `stream += x·Wᵀ` within the product's own kernel.
fn add_product(stream: &mut Tensor, x: &Tensor, matrix: &Tensor) -> Result<(), TchError> {
    stream.f_addmm_(x, &matrix.f_tr()?).map(|_| ())
}

/// RMS norm of the last dimension, with LibTorch's default epsilon.
pub(super) fn norm(x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
    x.f_rms_norm([weight.size()[0]], Some(weight), None)
}
