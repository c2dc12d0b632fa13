//! One token after the other, from kernels launched one by one or from a recorded graph.

use tch::{Device, Kind, Tensor};

use super::attend::{over_lengths, over_view};
use super::cache::{Cache, Policy, Room};
use super::model::Model;
use crate::kv_cache::{Attention, Config};
use crate::torch::Error;
use crate::torch::graph::Graph;
use crate::torch::lengths::Lengths;

/// How attention learns which tokens are cached.
enum Reach {
    /// The host knows the length and takes a view.
    View,
    /// The device counts; FlashAttention stops there.
    Lengths(Lengths),
    /// The device raises a bias over the whole capacity: 0 for cached tokens, −∞ beyond.
    Bias { bias: Tensor, zero: Tensor },
}

/// Which of the ways a decoder uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Views of exactly the cached tokens.
    Exact(Policy),
    /// A preallocated cache whose length only the device knows, by FlashAttention.
    Counted,
    /// A preallocated cache of fixed capacity under a bias.
    Masked,
}

impl Way {
    /// The way that a graph can record for this model, kind and device.
    pub(super) fn recordable(attention: Attention, kind: Kind, device: Device) -> Self {
        let flash =
            matches!(attention, Attention::Heads { .. }) && matches!(kind, Kind::BFloat16 | Kind::Half);
        if flash && device.is_cuda() { Self::Counted } else { Self::Masked }
    }
}

/// A batch of sequences being decoded.
pub(super) struct Decoder<'a> {
    model: &'a Model,
    cache: Cache,
    reach: Reach,
    /// Next token of each sequence.
    x: Tensor,
    logits: Option<Tensor>,
    graph: Option<Graph>,
    capacity: i64,
}

impl<'a> Decoder<'a> {
    /// Sequences without a token.
    pub(super) fn new(model: &'a Model, way: Way, room: Room) -> Result<Self, Error> {
        let (kind, device) = (model.embedding.kind(), model.embedding.device());
        let (policy, reach) = match way {
            Way::Exact(policy) => (policy, Reach::View),
            Way::Counted => {
                (Policy::Preallocated, Reach::Lengths(Lengths::new(room.batch, room.capacity, device)?))
            }
            Way::Masked => {
                let bias = Tensor::f_full([room.capacity], f64::NEG_INFINITY, (kind, device))?;
                let zero = Tensor::f_zeros([1], (kind, device))?;
                (Policy::Preallocated, Reach::Bias { bias, zero })
            }
        };
        let mut decoder = Self {
            model,
            cache: Cache::new(policy, model.shape, room, kind, device)?,
            reach,
            x: Tensor::f_zeros([room.batch], (Kind::Int64, device))?,
            logits: None,
            graph: None,
            capacity: room.capacity,
        };
        decoder.rewind(0)?;
        Ok(decoder)
    }

    /// Sequences of `context` tokens with random keys and values, and room for the run's steps.
    pub(super) fn with_context(
        model: &'a Model,
        way: Way,
        config: &Config,
        context: u64,
    ) -> Result<Self, Error> {
        let mut decoder = Self::new(model, way, room(config, context))?;
        decoder.cache.fill(context as i64)?;
        decoder.rewind(context as i64)?;
        Ok(decoder)
    }

    /// Back to `tokens` cached tokens.
    pub(super) fn rewind(&mut self, tokens: i64) -> Result<(), Error> {
        self.cache.rewind(tokens)?;
        match &mut self.reach {
            Reach::View => {}
            Reach::Lengths(lengths) => {
                let _ = lengths.used.f_fill_(tokens + 1)?;
            }
            Reach::Bias { bias, .. } => {
                let _ = bias.f_fill_(f64::NEG_INFINITY)?;
                let _ = bias.f_narrow(0, 0, tokens.min(self.capacity))?.f_fill_(0.0)?;
            }
        }
        Ok(())
    }

    /// Records a step as a graph, which later steps replay. Cached tokens are as before.
    pub(super) fn record(&mut self, tokens: i64) -> Result<(), Error> {
        let device = self.x.device();
        let graph = Graph::capture(device, || self.launch())?;
        self.graph = Some(graph);
        self.rewind(tokens)
    }

    /// Decodes one token of every sequence and takes the likeliest as the next.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        match &self.graph {
            Some(graph) => graph.replay(),
            None => self.launch(),
        }
    }

    /// Feeds these tokens `[b]` next instead of what was decoded.
    pub(super) fn feed(&mut self, tokens: &Tensor) -> Result<(), Error> {
        Ok(self.x.f_copy_(tokens)?)
    }

    /// Logits of the latest step, `[b, vocab]`.
    pub(super) fn logits(&self) -> Option<&Tensor> {
        self.logits.as_ref()
    }

    fn launch(&mut self) -> Result<(), Error> {
        let Self { model, cache, reach, x, .. } = self;
        if let Reach::Bias { bias, zero } = reach {
            let _ = bias.f_index_copy_(0, &cache.position()?, zero)?;
        }
        let tokens = cache.attended();
        let attention = model.shape.attention;
        let logits = model.step(x, |layer, q, row| {
            cache.append(layer, row)?;
            reach.attend(attention, q, cache, layer, tokens)
        })?;
        cache.advance()?;
        if let Reach::Lengths(lengths) = reach {
            let _ = lengths.used.f_add_scalar_(1)?;
        }
        let _ = logits.f_argmax_out(x, -1, false)?;
        self.logits = Some(logits);
        Ok(())
    }

    /// Attention of every layer over what is cached, without the rest of a step.
    pub(super) fn attention_alone(&self, q: &Tensor) -> Result<(), Error> {
        let tokens = self.cache.attended();
        for layer in 0..self.model.blocks.len() {
            let _ = self.reach.attend(self.model.shape.attention, q, &self.cache, layer, tokens)?;
        }
        Ok(())
    }
}

impl Reach {
    fn attend(
        &self,
        attention: Attention,
        q: &Tensor,
        cache: &Cache,
        layer: usize,
        tokens: i64,
    ) -> Result<Tensor, Error> {
        match self {
            Self::View => over_view(attention, q, &cache.view(layer, tokens)?, None),
            Self::Lengths(lengths) => over_lengths(q, cache.store(layer), lengths),
            Self::Bias { bias, .. } => {
                over_view(attention, q, &cache.view(layer, bias.size()[0])?, Some(bias))
            }
        }
    }
}

/// Room for `context` tokens and the run's steps. Kernels that take a bias want it a multiple of 8 long; a graph's
/// warm-up takes two steps of its own.
pub(super) fn room(config: &Config, context: u64) -> Room {
    Room {
        batch: config.batch as i64,
        capacity: (context + config.steps.max(2)).next_multiple_of(64) as i64,
        page: config.page as i64,
    }
}
