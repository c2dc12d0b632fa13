//! What a series keeps, merges and leaves out.

use proptest::prelude::*;

use super::*;

/// A series with a reading each 10 ns from 10 on.
fn filled(mut series: Series, values: &[Option<f64>]) -> Series {
    for (i, value) in values.iter().enumerate() {
        series.push((i as u64 + 1) * 10, *value);
    }
    series
}

fn means(averages: &[Option<Average>]) -> Vec<Option<f64>> {
    averages.iter().map(|average| average.map(|average| average.mean)).collect()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn a_reading_speaks_for_the_time_since_the_one_before() {
    let series = filled(Series::rolling(8), &[Some(0.0), Some(10.0), Some(20.0), Some(30.0)]);
    assert_eq!(means(&series.columns(10, 40, 3)), [Some(10.0), Some(20.0), Some(30.0)]);
    let phase = series.between(15, 30).expect("data");
    assert!(is_near(phase.mean, (5.0 * 10.0 + 10.0 * 20.0) / 15.0));
    assert!(is_near(phase.max, 20.0));
    assert!(is_near(phase.covered, 1.0));
}

#[test]
fn a_phase_shorter_than_the_sampling_has_the_reading_that_covers_it() {
    let series = filled(Series::rolling(8), &[Some(1.0), Some(7.0)]);
    assert_eq!(series.between(13, 14).map(|average| average.mean), Some(7.0));
}

#[test]
fn a_gap_is_no_value_and_enters_no_average() {
    let series = filled(Series::rolling(8), &[Some(4.0), Some(4.0), None, Some(8.0)]);
    assert_eq!(means(&series.columns(10, 40, 3)), [Some(4.0), None, Some(8.0)]);
    let all = series.between(10, 40).expect("data");
    assert!(is_near(all.mean, 6.0), "not drawn towards zero: {all:?}");
    assert!(is_near(all.covered, 2.0 / 3.0));
    assert_eq!(series.between(21, 29), None);
}

#[test]
fn nothing_is_known_outside_of_what_was_read() {
    let series = filled(Series::rolling(8), &[Some(1.0), Some(2.0)]);
    assert_eq!(means(&series.columns(0, 40, 4)), [None, Some(2.0), None, None]);
    assert_eq!(series.between(21, 100), None);
    assert_eq!(series.between(20, 10), None, "times the wrong way round");
    assert_eq!(Series::rolling(4).between(0, 100), None);
    assert!(series.columns(0, 40, 0).is_empty());
}

#[test]
fn a_single_reading_is_seen_at_its_moment() {
    let mut series = Series::rolling(4);
    series.push(100, Some(3.0));
    assert_eq!(means(&series.columns(90, 110, 4)), [None, None, Some(3.0), None]);
    assert_eq!(means(&series.columns(90, 100, 2)), [None, Some(3.0)], "the end belongs to the last column");
    assert_eq!(series.between(100, 100).map(|average| average.mean), Some(3.0));
}

#[test]
fn a_rolling_series_forgets_the_oldest() {
    let series = filled(Series::rolling(3), &[Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)]);
    assert_eq!(series.len(), 3);
    assert_eq!(series.bounds_ns(), Some((20, 50)));
    assert_eq!(means(&series.window(50, 50, 5)), [None, None, Some(3.0), Some(4.0), Some(5.0)]);
}

#[test]
fn a_window_may_begin_before_the_clock() {
    let series = filled(Series::rolling(4), &[Some(1.0), Some(2.0)]);
    assert_eq!(means(&series.window(20, 40, 4)), [None, None, None, Some(2.0)]);
}

#[test]
fn a_full_run_halves_its_resolution_and_keeps_mean_and_maximum() {
    let values: Vec<_> = (0..16).map(|i| Some(f64::from(i))).collect();
    let series = filled(Series::whole_run(4), &values);
    assert!(series.len() <= 4);
    assert_eq!(series.bounds_ns(), Some((10, 160)));
    let all = series.between(10, 160).expect("data");
    assert!(is_near(all.mean, 8.0), "{all:?}");
    assert!(is_near(all.max, 15.0));
    assert!(is_near(all.covered, 1.0));
}

#[test]
fn a_long_gap_survives_halving() {
    let values: Vec<_> = (0..64).map(|i| (!(16..48).contains(&i)).then_some(5.0)).collect();
    let series = filled(Series::whole_run(8), &values);
    let columns = means(&series.columns(0, 640, 16));
    assert!(columns[6..10].iter().all(Option::is_none), "{columns:?}");
    assert_eq!((columns[1], columns[14]), (Some(5.0), Some(5.0)));
}

#[test]
fn values_that_are_no_numbers_are_gaps_and_time_never_runs_back() {
    let mut series = Series::rolling(4);
    series.push(50, Some(1.0));
    series.push(60, Some(f64::NAN));
    assert_eq!(series.latest(), None);
    series.push(40, Some(2.0));
    assert_eq!(series.latest(), Some(2.0));
    assert_eq!(series.bounds_ns(), Some((50, 60)));
    assert_eq!(series.between(51, 59), None);
}

fn pushes() -> impl Strategy<Value = Vec<(u64, Option<f64>)>> {
    let value = prop_oneof![2 => (-1e6..1e6).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((0_u64..2_000_000, value), 1..300)
}

proptest! {
    #[test]
    fn any_times_and_values_are_taken_and_memory_stays_bounded(
        capacity in 0_usize..40,
        whole in any::<bool>(),
        pushes in prop::collection::vec((any::<u64>(), prop::option::of(any::<f64>())), 0..200),
        (t0, t1, columns) in (any::<u64>(), any::<u64>(), 0_usize..200),
    ) {
        let mut series = if whole { Series::whole_run(capacity) } else { Series::rolling(capacity) };
        for (time, value) in pushes {
            series.push(time, value);
            prop_assert!(series.len() <= series.capacity());
            prop_assert!(series.points.len() <= capacity.max(2) + 1);
        }
        prop_assert_eq!(series.columns(t0, t1, columns).len(), columns);
        prop_assert_eq!(series.window(t0, t1, columns).len(), columns);
        let _ = series.between(t0, t1);
    }

    #[test]
    fn merging_keeps_the_mean_the_maximum_and_the_time_covered(pushes in pushes(), capacity in 2_usize..20) {
        let (mut all, mut merged) = (Series::rolling(pushes.len()), Series::whole_run(capacity));
        let mut now = 0;
        for (step, value) in pushes {
            now += step + 1;
            all.push(now, value);
            merged.push(now, value);
        }
        let (from, to) = all.bounds_ns().expect("something was pushed");
        prop_assert_eq!(merged.bounds_ns(), Some((from, to)));
        match (all.between(from, to), merged.between(from, to)) {
            (Some(all), Some(merged)) => {
                prop_assert!(is_near(all.mean, merged.mean), "{:?} {:?}", all, merged);
                prop_assert!(is_near(all.max, merged.max));
                prop_assert!(is_near(all.covered, merged.covered));
            }
            (all, merged) => prop_assert_eq!(all, merged),
        }
    }

    #[test]
    fn a_column_has_a_value_only_where_something_was_read(pushes in pushes(), columns in 1_usize..80) {
        let mut series = Series::rolling(pushes.len());
        let (mut now, mut known, mut last) = (0, Vec::new(), None);
        for (step, value) in pushes {
            now += step;
            series.push(now, value);
            if value.is_some() {
                known.push((last.unwrap_or(now), now));
            }
            last = Some(now);
        }
        let t1 = now + 1000;
        for (i, column) in series.columns(0, t1, columns).iter().enumerate() {
            let edge = |i: usize| t1 * i as u64 / columns as u64;
            let touched = known.iter().any(|(from, to)| *from <= edge(i + 1) && *to >= edge(i));
            prop_assert!(column.is_none() || touched);
            let overlaps = known.iter().any(|(from, to)| from.max(&edge(i)) < to.min(&edge(i + 1)));
            prop_assert!(column.is_some() || !overlaps);
        }
    }
}
