//! One batch size: a fresh model, two steps taken apart, then steps against the clock.

use tch::Tensor;

use super::ledger::{Ledgers, Stage, by_formula, counted, series};
use super::model::{Gpt, loss};
use super::optimizer::Adam;
use super::report;
use super::text::{Corpus, Dice, Sample};
use crate::formulas::gpt_memory::{Recipe, Step};
use crate::memory_ledger::Config;
use crate::protocol::{LedgerItem, Quantity};
use crate::torch::autocast::Autocast;
use crate::torch::memory::{memory_use, reset_peak, rounding_bytes};
use crate::torch::stopwatch::Stopwatch;
use crate::torch::timing::synchronize;
use crate::torch::{Context, Error};

/// What one batch gave, as far as it went.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) batch: u64,
    /// Loss of each step, in nat.
    pub(super) losses: Vec<f64>,
    /// Milliseconds of each timed step.
    pub(super) step_ms: Vec<f64>,
    /// Weights, gradients and moments by the allocator's count.
    pub(super) state_bytes: Option<u64>,
    /// The allocator's rounding of the state.
    pub(super) state_rounding_bytes: u64,
    pub(super) peak_bytes: Option<u64>,
    pub(super) workspace_bytes: u64,
    /// The allocator's rounding at the peak.
    pub(super) rounding_bytes: u64,
    /// Named share at the peak.
    pub(super) peak_share: Option<f64>,
    /// Smallest named share of any ledger.
    pub(super) lowest_share: Option<f64>,
    /// The step whose loss was no number.
    pub(super) lost_at: Option<usize>,
}

/// A batch under way.
pub(super) struct Trial<'a> {
    ctx: &'a Context,
    config: &'a Config,
    corpus: &'a Corpus,
    step: Step,
    gpt: Gpt,
    adam: Adam,
    dice: Dice,
    ledgers: Ledgers<'a>,
}

impl<'a> Trial<'a> {
    /// Makes the model from `seed`, the same for every batch.
    pub(super) fn new(
        ctx: &'a Context,
        config: &'a Config,
        corpus: &'a Corpus,
        step: Step,
        seed: i64,
    ) -> Result<Self, Error> {
        let _phase = ctx.phase(format!("init b={}", step.batch));
        let ledgers = Ledgers::start(ctx, step.batch)?;
        tch::manual_seed(seed);
        let (gpt, masters) = Gpt::new(config.shape, config.recipe, config.context, ctx.device())?;
        synchronize(ctx.device())?;
        let adam = Adam::new(config.lr, masters);
        let dice = Dice::new(seed as u64);
        Ok(Self { ctx, config, corpus, step, gpt, adam, dice, ledgers })
    }

    /// Runs the batch; what was measured stays in `outcome` however it ends.
    pub(super) fn run(&mut self, outcome: &mut Outcome) -> Result<(), Error> {
        outcome.workspace_bytes = self.ledgers.workspace_bytes();
        let result = self.first_step(outcome).and_then(|()| self.later_steps(outcome));
        outcome.lowest_share = Some(self.ledgers.lowest_share);
        result
    }

    /// The first step, with a ledger after each phase.
    fn first_step(&mut self, outcome: &mut Outcome) -> Result<(), Error> {
        let device = self.ctx.device();
        let weights = self.allocated()?.saturating_sub(self.ledgers.workspace_bytes());
        let mut items = self.held();
        items.extend(self.inputs(None));
        self.ledgers.now(Stage::Init, items)?;

        let sample = self.sample()?;
        let with_inputs = self.allocated()?;
        let batch = self.step.batch;
        let logits = {
            let _phase = self.ctx.phase(format!("forward b={batch}"));
            let logits = self.forward(&sample)?;
            synchronize(device)?;
            logits
        };
        let mut items = self.held();
        items.extend(self.kept(&sample));
        items.extend(counted("logits", std::slice::from_ref(&logits)));
        self.ledgers.now(Stage::Forward, items)?;

        let loss = {
            let _phase = self.ctx.phase(format!("loss b={batch}"));
            let loss = self.loss(&logits, &sample)?;
            drop(logits);
            synchronize(device)?;
            loss
        };
        let mut items = self.held();
        items.extend(self.kept(&sample));
        items.extend(by_formula(&[self.step.log_probabilities()]));
        self.ledgers.now(Stage::Loss, items)?;

        let value = {
            let _phase = self.ctx.phase(format!("backward b={batch}"));
            loss.f_backward()?;
            synchronize(device)?;
            let value = loss.f_double_value(&[])?;
            drop(loss);
            value
        };
        let gradients = self.allocated()?.saturating_sub(with_inputs);
        let mut items = self.held();
        items.extend(self.inputs(Some(&sample)));
        let held = self.gpt.weights.iter().map(Tensor::f_grad).collect::<Result<Vec<_>, _>>()?;
        items.extend(counted("gradients", &held));
        drop(held);
        self.ledgers.now(Stage::Backward, items)?;

        {
            let _phase = self.ctx.phase(format!("step b={batch}"));
            self.adam.step(&self.gpt)?;
            synchronize(device)?;
        }
        let moments = self.allocated()?.saturating_sub(with_inputs);
        outcome.state_bytes = Some(weights + gradients + moments);
        outcome.state_rounding_bytes = rounding_bytes(device)?.0;
        self.end_of_step(1, &sample)?;
        self.keep(value, outcome);
        Ok(())
    }

    /// The second step, which shows that nothing more is added, steps against the clock, and the peak of them all.
    fn later_steps(&mut self, outcome: &mut Outcome) -> Result<(), Error> {
        let stopwatch = Stopwatch::new(self.ctx.device())?;
        let phase = self.ctx.phase(format!("train b={}", self.step.batch));
        reset_peak(self.ctx.device())?;
        let (mut ended, mut any) = (Ok(()), false);
        for number in 0..=self.config.timed_steps {
            ended = self.ctx.go_on();
            if ended.is_err() || outcome.lost_at.is_some() {
                break;
            }
            let sample = self.sample()?;
            let (loss, ms) = stopwatch.time(|| self.train(&sample))?;
            let value = loss.f_double_value(&[])?;
            drop(loss);
            any = true;
            if number == 0 {
                self.end_of_step(2, &sample)?;
            } else {
                outcome.step_ms.push(ms);
            }
            self.keep(value, outcome);
        }
        drop(phase);
        if any {
            self.peak(outcome)?;
        }
        ended
    }

    /// The highest moment of the steps from the second on.
    fn peak(&mut self, outcome: &mut Outcome) -> Result<(), Error> {
        let used = memory_use(self.ctx.device())?;
        outcome.rounding_bytes = rounding_bytes(self.ctx.device())?.1;
        outcome.peak_bytes = Some(used.allocated_peak_bytes);
        let peak = self.step.peak();
        outcome.peak_share = Some(self.ledgers.peak(by_formula(&peak.parts), used)?);
        report::peak_at(self.ctx, self.step.batch, peak.at);
        Ok(())
    }

    /// One whole step; the loss before its update.
    fn train(&mut self, sample: &Sample) -> Result<Tensor, Error> {
        let logits = self.forward(sample)?;
        let loss = self.loss(&logits, sample)?;
        drop(logits);
        loss.f_backward()?;
        self.adam.step(&self.gpt)?;
        Ok(loss.f_detach()?)
    }

    fn forward(&self, sample: &Sample) -> Result<Tensor, Error> {
        let _autocast = self.autocast()?;
        Ok(self.gpt.forward(&sample.tokens)?)
    }

    fn loss(&self, logits: &Tensor, sample: &Sample) -> Result<Tensor, Error> {
        let _autocast = self.autocast()?;
        Ok(loss(logits, &sample.targets, self.config.recipe)?)
    }

    /// On while it is held, in the recipe that wants it.
    fn autocast(&self) -> Result<Option<Autocast>, Error> {
        match self.config.recipe {
            Recipe::Autocast => Autocast::new(self.ctx.device()).map(Some),
            Recipe::Fp32 | Recipe::Bf16 | Recipe::Bf16Master => Ok(None),
        }
    }

    /// Reports a loss; `false` when it is no number and training on makes no sense.
    fn keep(&self, value: f64, outcome: &mut Outcome) -> bool {
        let step = outcome.losses.len();
        let (name, window) = (series(self.step.batch), "mean over the batch, before the update");
        if step == 0 {
            report::untrained(self.ctx, self.config, self.step.batch, value);
        }
        if value.is_finite() {
            outcome.losses.push(value);
            self.ctx.point("loss", &name, step as f64, Quantity::some(value, "nat"), window);
            return true;
        }
        outcome.lost_at = Some(step);
        let missing = Quantity::missing("nat", format!("the loss of step {step} is {value}"));
        self.ctx.point("loss", &name, step as f64, missing, window);
        report::lost(self.ctx, self.config, self.step.batch, step, value);
        false
    }

    fn end_of_step(&mut self, number: u32, sample: &Sample) -> Result<(), Error> {
        let mut items = self.held();
        items.extend(self.inputs(Some(sample)));
        self.ledgers.now(Stage::Step(number), items)?;
        Ok(())
    }

    /// What stays between the phases: weights, masters, moments.
    fn held(&self) -> Vec<LedgerItem> {
        let lists = [
            ("weights", &self.gpt.weights),
            ("master", &self.adam.masters),
            ("adam_m", &self.adam.first),
            ("adam_v", &self.adam.second),
        ];
        lists.into_iter().filter_map(|(id, tensors)| counted(id, tensors)).collect()
    }

    /// Tokens and targets of `sample`, where one is loaded, and the positions, which are there from the start.
    fn inputs(&self, sample: Option<&Sample>) -> Option<LedgerItem> {
        let mut tensors = vec![self.gpt.positions.shallow_clone()];
        if let Some(Sample { tokens, targets }) = sample {
            tensors.extend([tokens, targets].map(Tensor::shallow_clone));
        }
        counted("inputs", &tensors)
    }

    /// What the forward pass keeps for the backward pass.
    fn kept(&self, sample: &Sample) -> Vec<LedgerItem> {
        let mut items: Vec<LedgerItem> = self.inputs(Some(sample)).into_iter().collect();
        items.extend(by_formula(&self.step.weight_copies().into_iter().collect::<Vec<_>>()));
        items.extend(by_formula(&self.step.activations()));
        items
    }

    fn sample(&mut self) -> Result<Sample, Error> {
        self.corpus.sample(&mut self.dice, self.step.batch, self.config.context, self.ctx.device())
    }

    fn allocated(&self) -> Result<u64, Error> {
        Ok(memory_use(self.ctx.device())?.allocated_bytes)
    }
}
