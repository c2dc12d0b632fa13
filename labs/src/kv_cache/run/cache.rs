//! Three ways to keep a cache that grows by one token a step.

use tch::{Device, Kind, Tensor};

use super::attend::row_shape;
use crate::formulas::kv_cache::pages;
use crate::kv_cache::{Attention, ModelShape};
use crate::torch::Error;

/// How a cache grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// A new, longer tensor every step.
    Cat,
    /// Room for every token from the start.
    Preallocated,
    /// Pages of a pool, found through a table.
    Paged,
}

impl Policy {
    pub(super) const ALL: [Self; 3] = [Self::Cat, Self::Preallocated, Self::Paged];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cat => "cat",
            Self::Preallocated => "preallocated",
            Self::Paged => "paged",
        }
    }
}

/// Sizes of a cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) batch: i64,
    /// Tokens of one sequence.
    pub(super) capacity: i64,
    /// Tokens of a page.
    pub(super) page: i64,
}

/// The cache of every layer.
pub(super) struct Cache {
    policy: Policy,
    room: Room,
    row: Vec<i64>,
    /// Per layer: `[b, tokens, row…]` for cat, `[slots, row…]` for the others.
    layers: Vec<Tensor>,
    /// The layers that [`Self::rewind`] returns to; cat alone replaces its tensors.
    start: Vec<Tensor>,
    /// Tokens of each sequence.
    tokens: i64,
    /// Slot of each sequence's next token, on the device.
    slots: Tensor,
    /// Slot of every token, `[capacity, b]`; row `t` is what `slots` holds when `t` tokens are cached.
    slot_of: Tensor,
    /// Pages of each sequence, `[b, pages]`; paged alone.
    table: Option<Tensor>,
}

impl Cache {
    /// An empty cache for `room`; [`Self::rewind`] must come before the first token.
    pub(super) fn new(
        policy: Policy,
        shape: ModelShape,
        room: Room,
        kind: Kind,
        device: Device,
    ) -> Result<Self, Error> {
        let row = row_shape(shape.attention);
        let per_sequence = pages(room.capacity as u64, room.page as u64) as i64;
        let slots_of_layer = match policy {
            Policy::Cat => 0,
            Policy::Preallocated => room.batch * room.capacity,
            Policy::Paged => room.batch * per_sequence * room.page,
        };
        let size = match policy {
            Policy::Cat => [&[room.batch, 0], row.as_slice()].concat(),
            _ => [&[slots_of_layer], row.as_slice()].concat(),
        };
        let store = || Tensor::f_zeros(&size, (kind, device));
        let layers: Vec<Tensor> = (0..shape.layers).map(|_| store()).collect::<Result<_, _>>()?;
        let (slot_of, table) = places(policy, room, per_sequence, device)?;
        Ok(Self {
            policy,
            start: layers.iter().map(Tensor::shallow_clone).collect(),
            row,
            layers,
            tokens: 0,
            slots: Tensor::f_zeros([room.batch], (Kind::Int64, device))?,
            slot_of,
            table,
            room,
        })
    }

    /// Random contents for the first `tokens` tokens of every sequence.
    pub(super) fn fill(&mut self, tokens: i64) -> Result<(), Error> {
        for layer in &mut self.layers {
            if self.policy == Policy::Cat {
                let size = [&[self.room.batch, tokens], self.row.as_slice()].concat();
                *layer = Tensor::f_empty(&size, (layer.kind(), layer.device()))?;
            }
            let _ = layer.f_normal_(0.0, 1.0)?;
        }
        self.start = self.layers.iter().map(Tensor::shallow_clone).collect();
        self.rewind(tokens)
    }

    /// Forgets every token after the first `tokens`, which [`Self::fill`] or, with 0, [`Self::new`] left.
    pub(super) fn rewind(&mut self, tokens: i64) -> Result<(), Error> {
        if self.policy == Policy::Cat {
            self.layers = self.start.iter().map(Tensor::shallow_clone).collect();
        }
        self.tokens = tokens;
        self.place_next()
    }

    fn place_next(&mut self) -> Result<(), Error> {
        let row = self.tokens.min(self.room.capacity - 1);
        Ok(self.slots.f_copy_(&self.slot_of.f_select(0, row)?)?)
    }

    /// Adds one row per sequence to `layer`; the count of tokens rises with [`Self::advance`].
    pub(super) fn append(&mut self, layer: usize, row: &Tensor) -> Result<(), Error> {
        let store = &mut self.layers[layer];
        if self.policy == Policy::Cat {
            *store = Tensor::f_cat(&[&*store, &row.f_unsqueeze(1)?], 1)?;
        } else {
            let _ = store.f_index_copy_(0, &self.slots, row)?;
        }
        Ok(())
    }

    /// All layers have their row: the next token has the next slot.
    pub(super) fn advance(&mut self) -> Result<(), Error> {
        self.tokens += 1;
        match self.policy {
            Policy::Cat => Ok(()),
            // Slots of one sequence follow each other, so the device needs nothing from the host.
            Policy::Preallocated => {
                let _ = self.slots.f_add_scalar_(1)?;
                Ok(())
            }
            Policy::Paged => self.place_next(),
        }
    }

    /// Tokens of each sequence that a step between [`Self::append`] and [`Self::advance`] attends to.
    pub(super) fn attended(&self) -> i64 {
        self.tokens + 1
    }

    /// The first `tokens` tokens of `layer`, `[b, tokens, row…]`. Paged: gathered, which reads and writes every page
    /// once more; an engine's kernel walks the table instead.
    pub(super) fn view(&self, layer: usize, tokens: i64) -> Result<Tensor, Error> {
        let store = &self.layers[layer];
        let Room { batch, capacity, page } = self.room;
        let rows = |tokens: i64| [&[batch, tokens], self.row.as_slice()].concat();
        Ok(match (self.policy, &self.table) {
            (Policy::Paged, Some(table)) => {
                let used = pages(tokens as u64, page as u64) as i64;
                let wanted = table.f_narrow(1, 0, used)?.f_reshape([-1])?;
                let all = store.f_view_([store.size()[0] / page, -1])?;
                all.f_index_select(0, &wanted)?.f_view_(rows(used * page))?.f_narrow(1, 0, tokens)?
            }
            (Policy::Preallocated, _) => store.f_view_(rows(capacity))?.f_narrow(1, 0, tokens)?,
            _ => store.shallow_clone(),
        })
    }

    /// The whole store of `layer`, `[slots, row…]`.
    pub(super) fn store(&self, layer: usize) -> &Tensor {
        &self.layers[layer]
    }

    /// Position of the next token of the first sequence of a preallocated cache, on the device, `[1]`.
    pub(super) fn position(&self) -> Result<Tensor, Error> {
        Ok(self.slots.f_narrow(0, 0, 1)?)
    }
}

/// Slot of every token and, for pages, the table: pages lie in random order, as in a server that has run for a while.
fn places(
    policy: Policy,
    room: Room,
    per_sequence: i64,
    device: Device,
) -> Result<(Tensor, Option<Tensor>), Error> {
    let int = (Kind::Int64, device);
    let Room { batch, capacity, page } = room;
    let token = Tensor::f_arange(capacity, int)?.f_view_([capacity, 1])?;
    if policy != Policy::Paged {
        let first = Tensor::f_arange(batch, int)?.f_mul_scalar(capacity)?;
        return Ok((token.f_add(&first)?, None));
    }
    let table = Tensor::f_randperm(batch * per_sequence, int)?.f_view_([batch, per_sequence])?;
    let page_of = token.f_floor_divide_scalar(page)?.f_view_([-1])?;
    let offset = token.f_fmod(page)?;
    let slot_of = table.f_index_select(1, &page_of)?.f_mul_scalar(page)?.f_transpose(0, 1)?.f_add(&offset)?;
    Ok((slot_of, Some(table)))
}

/// Bytes of a tensor's elements.
pub(super) fn tensor_bytes(tensor: &Tensor) -> u64 {
    tensor.numel() as u64 * tensor.kind().elt_size_in_bytes() as u64
}

/// Size of one token of `layers` layers and `batch` sequences as a tensor: `[layers, batch, tokens, row…]`.
pub(super) fn tokens_size(shape: ModelShape, attention: Attention, batch: u64, tokens: u64) -> Vec<i64> {
    [&[shape.layers as i64, batch as i64, tokens as i64], row_shape(attention).as_slice()].concat()
}
