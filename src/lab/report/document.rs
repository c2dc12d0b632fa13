//! A page as blocks, written once and printed as Markdown or HTML. Strings here are what they say:
//! each writer escapes for its own format, so that nothing in a run's file can be markup.

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading; 1 is the page's title.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(Words),
    /// Points without order.
    List(Vec<Words>),
    /// A table.
    Table(Table),
    /// A command to type.
    Command(String),
    /// A picture.
    Picture(Picture),
}

/// A sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(pub Vec<Span>);

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Plain(String),
    /// Something to type, or a name.
    Code(String),
    /// Words that must not be overlooked.
    Strong(String),
}

/// A table; columns that hold only numbers are set to the right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows, as long as the head.
    pub rows: Vec<Vec<String>>,
}

/// A drawing with its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// File name without ending: letters, digits, `-` and `_`.
    pub name: String,
    /// What is shown.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// Stands in a table where there is nothing to say.
pub const NOTHING: &str = "–";

impl Words {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds words.
    #[must_use]
    pub fn plain(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(text.into()));
        self
    }

    /// Adds something to type.
    #[must_use]
    pub fn code(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Code(text.into()));
        self
    }

    /// Adds words that must not be overlooked.
    #[must_use]
    pub fn strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Strong(text.into()));
        self
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::new().plain(text)
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::new().plain(text)
    }
}

impl Block {
    /// A paragraph.
    pub fn paragraph(words: impl Into<Words>) -> Self {
        Self::Paragraph(words.into())
    }
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// The table as a block; nothing when it has no rows.
    pub fn block(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }

    /// Whether a column holds numbers, and so is set to the right.
    pub fn numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column)).filter(|c| !c.is_empty());
        // A number, alone or before its unit or range; a date or a run id is none.
        let number = |c: &String| {
            let first = c.split([' ', '×', '%']).next().unwrap_or_default();
            c == NOTHING || c == "N/A" || first.parse::<f64>().is_ok()
        };
        cells.clone().any(|c| c != NOTHING) && cells.all(number)
    }
}

/// A file name out of words: what is not a letter, digit, `-` or `_` becomes `-`.
pub fn file_stem(words: &str) -> String {
    const MOST: usize = 100;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    words.chars().map(plain).take(MOST).collect()
}
