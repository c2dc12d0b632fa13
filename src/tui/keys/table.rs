//! The table itself: every key at every place.

use crossterm::event::KeyCode;

use super::Key::{Char, Code, Ctrl, F};
use super::{Binding, Key, Place};
use crate::tui::msg::{Action, Tab};

use Action as A;
use Place as P;

const UP: Key = Code(KeyCode::Up);
const DOWN: Key = Code(KeyCode::Down);
const LEFT: Key = Code(KeyCode::Left);
const RIGHT: Key = Code(KeyCode::Right);
const ENTER: Key = Code(KeyCode::Enter);
const ESC: Key = Code(KeyCode::Esc);
const TAB: Key = Code(KeyCode::Tab);
const BACKTAB: Key = Code(KeyCode::BackTab);
const PGUP: Key = Code(KeyCode::PageUp);
const PGDN: Key = Code(KeyCode::PageDown);
const HOME: Key = Code(KeyCode::Home);
const END: Key = Code(KeyCode::End);

macro_rules! bindings {
    ($($on:expr, [$($key:expr),+], $action:expr, $en:literal, $zh:literal, $footer:literal;)+) => {
        &[$(Binding { on: $on, keys: &[$($key),+], action: $action, en: $en, zh: $zh, footer: $footer },)+]
    };
}

/// Every binding. Order within a place is the order of footer and help.
pub const BINDINGS: &[Binding] = bindings! {
    P::Home, [ENTER], A::Open, "go on reading", "继续阅读", true;

    P::Notes, [ENTER], A::Open, "read", "阅读", true;
    P::Notes, [UP, Char('k')], A::Up, "up", "上一条", false;
    P::Notes, [DOWN, Char('j')], A::Down, "down", "下一条", false;
    P::Notes, [F(5), Char('x')], A::Known, "known", "已掌握", true;
    P::Notes, [F(6), Char('l')], A::Learning, "learning", "学习中", true;
    P::Notes, [F(7), Char('t')], A::Todo, "to learn", "待学", true;
    P::Notes, [F(8), Char('u')], A::Undo, "undo", "撤销", false;

    P::Reader, [UP, Char('k')], A::Up, "line up", "上一行", false;
    P::Reader, [DOWN, Char('j')], A::Down, "line down", "下一行", false;
    P::Reader, [PGDN, Char(' ')], A::PageDown, "page down", "下一页", true;
    P::Reader, [PGUP, Char('b')], A::PageUp, "page up", "上一页", false;
    P::Reader, [HOME, Char('g')], A::Top, "top", "开头", false;
    P::Reader, [END, Char('G')], A::Bottom, "end", "结尾", false;
    P::Reader, [TAB], A::Next, "next link", "下一个链接", true;
    P::Reader, [BACKTAB], A::Previous, "previous link", "上一个链接", false;
    P::Reader, [ENTER], A::Open, "follow link", "打开链接", true;
    P::Reader, [F(5), Char('x')], A::Known, "known", "已掌握", true;
    P::Reader, [F(6), Char('l')], A::Learning, "learning", "学习中", false;
    P::Reader, [F(7), Char('t')], A::Todo, "to learn", "待学", false;
    P::Reader, [F(8), Char('u')], A::Undo, "undo", "撤销", false;

    P::Search, [ENTER], A::Open, "open", "打开", true;
    P::Search, [UP], A::Up, "up", "上一条", false;
    P::Search, [DOWN], A::Down, "down", "下一条", true;
    P::Search, [PGUP], A::PageUp, "page up", "上一页", false;
    P::Search, [PGDN], A::PageDown, "page down", "下一页", false;
    P::Search, [TAB], A::Next, "kind", "类别", true;
    P::Search, [BACKTAB], A::Previous, "kind back", "上一类别", false;

    P::Glossary, [UP, Char('k')], A::Up, "up", "上一条", false;
    P::Glossary, [DOWN, Char('j')], A::Down, "down", "下一条", false;
    P::Glossary, [PGUP], A::PageUp, "page up", "上一页", false;
    P::Glossary, [PGDN], A::PageDown, "page down", "下一页", false;
    P::Glossary, [HOME, Char('g')], A::Top, "first", "第一条", false;
    P::Glossary, [END, Char('G')], A::Bottom, "last", "最后一条", false;
    P::Glossary, [ENTER], A::Open, "read", "阅读", true;
    P::Glossary, [F(5), Char('x')], A::Known, "known", "已掌握", true;
    P::Glossary, [F(6), Char('l')], A::Learning, "learning", "学习中", true;
    P::Glossary, [F(7), Char('t')], A::Todo, "to learn", "待学", true;
    P::Glossary, [Char(' ')], A::Cycle, "next mark", "切换标记", false;
    P::Glossary, [F(8), Char('u')], A::Undo, "undo", "撤销", true;
    P::Glossary, [TAB, Char('f')], A::Filter, "filter", "筛选", true;

    P::Labs, [ENTER, F(5)], A::Open, "predict and run", "预测并运行", true;
    P::Labs, [F(6), Char('p')], A::Replay, "replay the recording", "回放录制", true;
    P::Labs, [F(7), Char('i')], A::Guide, "guide", "指南", true;
    P::Labs, [UP, Char('k')], A::Up, "up", "上一个", false;
    P::Labs, [DOWN, Char('j')], A::Down, "down", "下一个", false;

    P::Lab, [UP], A::Up, "field up", "上一项", false;
    P::Lab, [DOWN], A::Down, "field down", "下一项", true;
    P::Lab, [LEFT], A::Left, "previous choice", "上一个选项", false;
    P::Lab, [RIGHT], A::Right, "next choice", "下一个选项", true;
    P::Lab, [ENTER], A::Open, "do / next field", "执行 / 下一项", true;
    P::Lab, [F(5)], A::Run, "run", "运行", true;
    P::Lab, [F(6)], A::Replay, "replay the recording", "回放录制", true;
    P::Lab, [F(7)], A::Guide, "guide", "指南", true;
    P::Lab, [TAB], A::Next, "next section", "下一段", false;
    P::Lab, [BACKTAB], A::Previous, "previous section", "上一段", false;

    P::Setup, [ENTER], A::Open, "install", "安装", true;
    P::Setup, [F(6), Char('p')], A::Replay, "replay a recording instead", "改看录制", true;

    P::Run, [LEFT, Char('h')], A::Left, "previous chart", "上一张图", false;
    P::Run, [RIGHT, Char('l')], A::Right, "next chart", "下一张图", true;
    P::Run, [TAB], A::Next, "next view", "下一视图", true;
    P::Run, [BACKTAB], A::Previous, "view back", "上一视图", false;
    P::Run, [UP, Char('k')], A::Up, "scroll up", "向上", false;
    P::Run, [DOWN, Char('j')], A::Down, "scroll down", "向下", false;
    P::Run, [F(6), Char('s')], A::Stop, "stop", "停止", true;
    P::Run, [F(5), Char('p')], A::Replay, "replay", "回放", true;
    P::Run, [F(7), Char('i')], A::Guide, "guide", "指南", true;
    P::Run, [F(8), Char(' ')], A::Pause, "hold a replay, go on", "回放：暂停、继续", false;
    P::Run, [PGUP], A::PageUp, "a tenth back", "后退十分之一", false;
    P::Run, [PGDN], A::PageDown, "a tenth on", "前进十分之一", false;
    P::Run, [HOME, Char('g')], A::Top, "to the start", "回到开头", false;
    P::Run, [END, Char('G')], A::Bottom, "to the end", "跳到结尾", false;
    P::Run, [Char(','), Ctrl('p')], A::StepBack, "one reading back", "后退一次读数", false;
    P::Run, [Char('.'), Ctrl('n')], A::StepOn, "one reading on", "前进一次读数", false;
    P::Run, [Char('+'), Char('='), Ctrl('u')], A::Faster, "faster", "加速", false;
    P::Run, [Char('-'), Ctrl('d')], A::Slower, "slower", "减速", false;
    P::Run, [ENTER], A::Open, "the gauge's term, in the device view", "读数的术语（设备视图）", false;
    P::Run, [F(9), Char('w')], A::Lens, "scraper's view, in the device view", "采样透镜（设备视图）", false;

    P::Readings, [UP, Char('k')], A::Up, "gauge up", "上一个读数", false;
    P::Readings, [DOWN, Char('j')], A::Down, "gauge", "选读数", true;
    P::Readings, [ENTER], A::Open, "its term", "看术语", true;
    P::Readings, [F(8), Char(' ')], A::Pause, "hold, go on", "暂停、继续", true;
    P::Readings, [PGDN], A::PageDown, "a tenth on", "前进十分之一", true;
    P::Readings, [PGUP], A::PageUp, "a tenth back", "后退十分之一", false;
    P::Readings, [HOME, Char('g')], A::Top, "to the start", "回到开头", false;
    P::Readings, [END, Char('G')], A::Bottom, "to the end", "跳到结尾", false;
    P::Readings, [Char(','), Ctrl('p')], A::StepBack, "one reading back", "后退一次读数", false;
    P::Readings, [Char('.'), Ctrl('n')], A::StepOn, "one reading on", "前进一次读数", false;
    P::Readings, [Char('+'), Char('='), Ctrl('u')], A::Faster, "faster", "加速", false;
    P::Readings, [Char('-'), Ctrl('d')], A::Slower, "slower", "减速", false;
    P::Readings, [F(5), Char('p')], A::Replay, "replay", "回放", true;
    P::Readings, [F(6), Char('s')], A::Stop, "show all", "看全部", false;
    P::Readings, [F(9), Char('w')], A::Lens, "scraper's view", "采样透镜", true;
    P::Readings, [TAB], A::Next, "next GPU", "下一块 GPU", true;
    P::Readings, [BACKTAB], A::Previous, "previous GPU", "上一块 GPU", false;
    P::Readings, [LEFT, Char('h')], A::Left, "previous phase", "上一阶段", false;
    P::Readings, [RIGHT, Char('l')], A::Right, "next phase", "下一阶段", false;

    P::History, [ENTER], A::Open, "show", "查看", true;
    P::History, [F(5), Char('p')], A::Replay, "replay", "回放", true;
    P::History, [Char(' ')], A::Select, "choose", "选入对比", true;
    P::History, [F(6), Char('c')], A::Compare, "compare", "对比", true;
    P::History, [F(7), Char('b')], A::Calibration, "calibration", "校准", true;
    P::History, [TAB, Char('f')], A::Filter, "filter", "筛选", true;
    P::History, [UP, Char('k')], A::Up, "up", "上一条", false;
    P::History, [DOWN, Char('j')], A::Down, "down", "下一条", false;
    P::History, [PGUP], A::PageUp, "page up", "上一页", false;
    P::History, [PGDN], A::PageDown, "page down", "下一页", false;

    P::Calc, [ENTER], A::Open, "fields, next", "填写、下一项", true;
    P::Calc, [UP], A::Up, "up", "上一项", false;
    P::Calc, [DOWN], A::Down, "down", "下一项", false;
    P::Calc, [LEFT], A::Left, "previous choice", "上一个选项", false;
    P::Calc, [RIGHT], A::Right, "choose", "选择", true;
    P::Calc, [PGUP], A::PageUp, "page up", "上一页", false;
    P::Calc, [PGDN], A::PageDown, "page down", "下一页", false;
    P::Calc, [TAB], A::Next, "list / fields", "列表 / 填写", true;
    P::Calc, [BACKTAB], A::Previous, "the other way", "反向切换", false;
    P::Calc, [F(5)], A::Filter, "filter", "筛选", true;

    P::Monitor, [UP, Char('k')], A::Up, "gauge up", "上一个读数", false;
    P::Monitor, [DOWN, Char('j')], A::Down, "gauge", "选读数", true;
    P::Monitor, [ENTER], A::Open, "its term", "看术语", true;
    P::Monitor, [F(5), Char(' ')], A::Pause, "hold", "定格", true;
    P::Monitor, [F(6), Char('w')], A::Lens, "scraper's view", "采样透镜", true;
    P::Monitor, [F(7), Char('t')], A::Window, "time span", "时间跨度", true;
    P::Monitor, [TAB], A::Next, "next GPU", "下一块 GPU", true;
    P::Monitor, [BACKTAB], A::Previous, "previous GPU", "上一块 GPU", false;
    P::Monitor, [LEFT, Char('h')], A::Left, "previous phase", "上一阶段", false;
    P::Monitor, [RIGHT, Char('l')], A::Right, "next phase", "下一阶段", false;
    P::Monitor, [HOME, Char('g')], A::Top, "first gauge", "第一个读数", false;
    P::Monitor, [END, Char('G')], A::Bottom, "last gauge", "最后一个读数", false;

    P::Compare, [LEFT, Char('h')], A::Left, "previous chart", "上一张图", false;
    P::Compare, [RIGHT, Char('l')], A::Right, "next chart", "下一张图", true;
    P::Compare, [TAB], A::Next, "numbers / chart", "数字 / 图", true;
    P::Compare, [BACKTAB], A::Previous, "view back", "上一视图", false;
    P::Compare, [UP, Char('k')], A::Up, "line up", "上一行", false;
    P::Compare, [DOWN, Char('j')], A::Down, "line down", "下一行", false;
    P::Compare, [PGUP, Char('b')], A::PageUp, "page up", "上一页", false;
    P::Compare, [PGDN, Char(' ')], A::PageDown, "page down", "下一页", true;
    P::Compare, [HOME, Char('g')], A::Top, "top", "开头", false;
    P::Compare, [END, Char('G')], A::Bottom, "end", "结尾", false;

    P::Calibration, [UP, Char('k')], A::Up, "line up", "上一行", false;
    P::Calibration, [DOWN, Char('j')], A::Down, "line down", "下一行", false;
    P::Calibration, [PGUP, Char('b')], A::PageUp, "page up", "上一页", false;
    P::Calibration, [PGDN, Char(' ')], A::PageDown, "page down", "下一页", true;
    P::Calibration, [HOME, Char('g')], A::Top, "top", "开头", false;
    P::Calibration, [END, Char('G')], A::Bottom, "end", "结尾", false;

    P::Help, [UP, Char('k')], A::Up, "up", "向上", false;
    P::Help, [DOWN, Char('j')], A::Down, "down", "向下", false;
    P::Help, [PGUP], A::PageUp, "page up", "上一页", false;
    P::Help, [PGDN, Char(' ')], A::PageDown, "page down", "下一页", false;

    P::Everywhere, [Char('1')], A::Go(Tab::Home), "home", "首页", false;
    P::Everywhere, [Char('2')], A::Go(Tab::Notes), "notes", "笔记", false;
    P::Everywhere, [F(3), Char('/'), Char('3')], A::Go(Tab::Search), "search", "搜索", true;
    P::Everywhere, [Char('4')], A::Go(Tab::Glossary), "glossary", "术语", false;
    P::Everywhere, [Char('5')], A::Go(Tab::Labs), "labs", "实验", false;
    P::Everywhere, [Char('6')], A::Go(Tab::History), "history", "历史", false;
    P::Everywhere, [Char('7')], A::Go(Tab::Calc), "calculators", "计算器", false;
    P::Everywhere, [Char('8')], A::Go(Tab::Gpu), "GPU", "GPU", false;
    P::Everywhere, [ESC, Code(KeyCode::Backspace)], A::Back, "back", "返回", true;
    P::Everywhere, [F(2)], A::Language, "中文", "English", true;
    P::Everywhere, [F(4)], A::Theme, "theme", "配色", false;
    P::Everywhere, [F(12), Ctrl('g')], A::Glyphs, "chart characters", "图表字符", false;
    P::Everywhere, [F(1), Char('?')], A::Help, "help", "帮助", true;
    P::Everywhere, [F(10), Char('q'), Ctrl('c')], A::Quit, "quit", "退出", true;
    P::Everywhere, [Ctrl('l')], A::Redraw, "redraw", "重画", false;
    P::Everywhere, [Ctrl('z')], A::Suspend, "suspend", "挂起", false;
};
