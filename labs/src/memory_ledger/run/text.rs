//! What the model is trained on: a frozen excerpt of the project's notes, and a tokenizer trained on it.

use tch::{Device, Tensor};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{NormalizerWrapper, TokenizerBuilder, TokenizerImpl};

use crate::memory_ledger::TOKENIZER_ENTRIES;
use crate::protocol::Failure;
use crate::torch::Error;

/// Frozen, so that losses of different versions compare.
const TEXT: &str = include_str!("../corpus.txt");

/// Byte-level BPE: every byte is a token, and the pairs that are met most often become tokens of their own.
type Tokenizer = TokenizerImpl<BPE, NormalizerWrapper, ByteLevel, ByteLevel, ByteLevel>;

/// The text as token numbers.
pub(super) struct Corpus {
    tokens: Vec<i64>,
    pub(super) text_bytes: usize,
    pub(super) entries: usize,
}

impl Corpus {
    /// Trains the tokenizer, which gives the same tokens every time, and reads the text with it.
    pub(super) fn new() -> Result<Self, Error> {
        let tokenizer = trained(TEXT)?;
        let encoding = tokenizer.encode(TEXT, false).map_err(|e| fault(e.as_ref()))?;
        Ok(Self {
            tokens: encoding.get_ids().iter().map(|id| i64::from(*id)).collect(),
            text_bytes: TEXT.len(),
            entries: tokenizer.get_vocab_size(true),
        })
    }

    /// Tokens in the text.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// `batch` windows of the text at random places, and the same windows one token later.
    pub(super) fn sample(
        &self,
        dice: &mut Dice,
        batch: u64,
        context: u64,
        device: Device,
    ) -> Result<Sample, Error> {
        let length = context as usize;
        let last = self.tokens.len().saturating_sub(length + 1).max(1);
        let starts: Vec<usize> = (0..batch).map(|_| dice.below(last)).collect();
        let windows = |shift: usize| -> Result<Tensor, Error> {
            let rows = starts.iter().flat_map(|s| &self.tokens[s + shift..s + shift + length]);
            let flat: Vec<i64> = rows.copied().collect();
            let on_host = Tensor::f_from_slice(&flat)?.f_view([batch as i64, context as i64])?;
            Ok(on_host.f_to_device(device)?)
        };
        Ok(Sample { tokens: windows(0)?, targets: windows(1)?.f_view([-1])? })
    }
}

/// One batch.
pub(super) struct Sample {
    /// `[B, T]`.
    pub(super) tokens: Tensor,
    /// `[B·T]`: the token after each.
    pub(super) targets: Tensor,
}

fn trained(text: &str) -> Result<Tokenizer, Error> {
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(TOKENIZER_ENTRIES as usize)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(BPE::default())
        .with_normalizer(None)
        .with_pre_tokenizer(Some(ByteLevel::new(false, true, true)))
        .with_post_processor(Some(ByteLevel::default()))
        .with_decoder(Some(ByteLevel::default()))
        .build()
        .map_err(|e| fault(e.as_ref()))?;
    let lines = text.split_inclusive('\n').map(ToOwned::to_owned);
    tokenizer.train(&mut trainer, lines).map_err(|e| fault(e.as_ref()))?;
    Ok(tokenizer)
}

fn fault(error: &(dyn std::error::Error + Send + Sync)) -> Error {
    Error::Failed(Failure {
        what: "the tokenizer cannot be trained on the lab's text".into(),
        why: error.to_string(),
        next: "please report it with the run's log".into(),
    })
}

/// Places in the text, the same for the same seed on every device (SplitMix64, Steele and others 2014).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokenizer_reads_the_text_back_and_is_the_same_every_time() {
        let (one, other) = (trained(TEXT).expect("trained"), trained(TEXT).expect("trained"));
        let ids = one.encode(TEXT, false).expect("read").get_ids().to_vec();
        assert_eq!(ids, other.encode(TEXT, false).expect("read").get_ids());
        assert_eq!(one.decode(&ids, false).expect("text"), TEXT);
        assert_eq!(one.get_vocab_size(true) as u64, TOKENIZER_ENTRIES);
        assert!(ids.len() * 3 < TEXT.len() * 2, "fewer tokens than bytes: {}", ids.len());
        let unseen = "梯度 ∂L/∂θ, 🦀\n";
        let ids = one.encode(unseen, false).expect("read").get_ids().to_vec();
        assert_eq!(one.decode(&ids, false).expect("text"), unseen);
    }

    #[test]
    fn targets_are_the_tokens_one_later_and_the_seed_decides() {
        let corpus = Corpus::new().expect("corpus");
        let draw = |seed| corpus.sample(&mut Dice::new(seed), 3, 16, Device::Cpu).expect("sampled");
        let (sample, again, other) = (draw(1), draw(1), draw(2));
        let targets = sample.targets.view([3, 16]);
        assert_eq!(sample.tokens.narrow(1, 1, 15), targets.narrow(1, 0, 15));
        assert!(sample.tokens == again.tokens && sample.tokens != other.tokens);
        assert!(sample.tokens.max().int64_value(&[]) < TOKENIZER_ENTRIES as i64);
    }
}
