package ql

import (
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// Travel says how many files are copied in parallel, and at what rate.
type Travel struct {
	Parallel int   // files in parallel; 0: not given
	Rate     int64 // bytes a second; 0: no limit
}

// rateOption parses a size in bytes a second: 50MB, 64KiB, 1000000.
func (p *parser) rateOption(to *target) {
	n, err := schema.ParseSize(p.peek().BareText())
	if err != nil || n < 1 {
		panic(p.unexpected("bytes a second, as in 50MB or 64KiB"))
	}
	p.next()
	to.travel.Rate = n
}

var backupVerb = verb{
	name: "backup", parse: parseBackup,
	help: helpTopic{
		summary: "back the database up",
		syntax:  "backup [to 'DIR' | to 's3://BUCKET/PREFIX?endpoint=URL'] [keep=N] [parallel=N] [rate=SIZE]",
		text: "Reads and writes continue; the backup has all tables as of one moment. Only files that no earlier backup has are sent.\n" +
			"The default place is that of the last backup. keep= prunes all but the newest N backups. rate= limits the bytes a second: 50MB.\n" +
			"Over the network the server makes the backup: the directory is on its machine, and access keys come from its environment.\n\n" +
			"Example:\n  backup to '/backups/fleet' keep=7",
	},
}

// Backup makes a backup of the database.
type Backup struct {
	Node
	To   string // "": the target of the last backup
	Keep int    // number of generations to keep; 0: all
	Travel
}

func (st *Backup) print(w *printer) {
	w.words("backup")
	w.place("to", st.To)
	w.number("keep", st.Keep)
	w.travel(st.Travel)
}

func parseBackup(p *parser) Statement {
	st := &Backup{}
	p.options(inBackup, &target{to: &st.To, keep: &st.Keep, travel: &st.Travel})
	return st
}

var backupsVerb = verb{
	name: "backups", parse: parseBackups,
	help: helpTopic{
		summary: "list the backups",
		syntax:  "backups [[in] 'DIR' | [in] 's3://..']", text: "NEW BYTES is the size of the files that no earlier backup had. The default place is that of the last backup.",
	},
}

// Backups lists the generations.
type Backups struct {
	Node
	In string // "": the target of the last backup
}

func (st *Backups) print(w *printer) {
	w.words("backups")
	w.place("in", st.In)
}

func parseBackups(p *parser) Statement {
	st := &Backups{}
	if p.atWord() && p.peek().Keyword() != "in" { // backups 's3://..'
		st.In = p.file(place)
	}
	p.options(inBackups, &target{from: &st.In})
	return st
}

var verifyVerb = verb{
	name: "verify", parse: parseVerify,
	help: helpTopic{
		summary: "read all backups and compare them",
		syntax:  "verify [in 'DIR' | in 's3://..'] [sample=N] [parallel=N] [rate=SIZE]",
		text: "Reads every byte, compares it with its checksum, and names what is damaged. Segments of the log, which smolwc serve --continuous sends, must follow each other too.\n" +
			"sample=N also restores N random moments, in a temporary directory, and checks each.",
	},
}

// Verify reads all backups and compares them with their checksums.
type Verify struct {
	Node
	In     string
	Sample int // random moments to restore
	Travel
}

func (st *Verify) print(w *printer) {
	w.words("verify")
	w.place("in", st.In)
	w.number("sample", st.Sample)
	w.travel(st.Travel)
}

func parseVerify(p *parser) Statement {
	st := &Verify{}
	p.options(inVerify, &target{from: &st.In, samples: &st.Sample, travel: &st.Travel})
	return st
}

var restoreVerb = verb{
	name: "restore", parse: parseRestore,
	help: helpTopic{
		summary: "make a database of a backup, or bring one table back",
		syntax: "restore N | latest to 'DIR' [from 'DIR' | from 's3://..'] [at TIME] [overwrite] [parallel=N] [rate=SIZE]\n" +
			"restore table T [N | latest] [at TIME] [as T2] [from 'DIR' | from 's3://..'] [parallel=N] [rate=SIZE]",
		text: "DIR becomes a database after every byte was compared with its checksum. An existing database\n" +
			"is replaced only with overwrite, and never while it is open.\n" +
			"restore table brings one table back into this database, from the newest backup or from N, or with as under another name.\n" +
			"A table that is there is left alone.\n" +
			"at TIME restores the moment after the last commit up to then, where smolwc serve --continuous has sent the log: at 2024-01-25T10:30 or\n" +
			"at now-10m. A number below 10^15 is a position of the log, and restores the moment after it.",
	},
}

// Restore restores a generation of a backup into a directory.
type Restore struct {
	Node
	Generation int // 0: the newest
	To, From   string
	At         *lex.Time // nil: the backup's time
	Overwrite  bool
	Travel
}

func (st *Restore) print(w *printer) {
	w.words("restore", "latest")
	if st.Generation > 0 {
		w.out[len(w.out)-1] = strconv.Itoa(st.Generation)
	}
	w.place("to", st.To)
	w.place("from", st.From)
	w.moment(st.At)
	w.flag("overwrite", st.Overwrite)
	w.travel(st.Travel)
}

// RestoreTable brings a table of a generation of a backup into the database.
type RestoreTable struct {
	Node
	Table, As  Name // As without Text: the same name
	Generation int  // 0: the newest
	From       string
	At         *lex.Time // nil: the backup's time
	Travel
}

func (st *RestoreTable) print(w *printer) {
	w.words("restore", "table", lex.QuoteName(st.Table.Text))
	w.flag(strconv.Itoa(st.Generation), st.Generation > 0)
	if st.As.Text != "" {
		w.words("as", lex.QuoteName(st.As.Text))
	}
	w.place("from", st.From)
	w.moment(st.At)
	w.travel(st.Travel)
}

func parseRestoreTable(p *parser) Statement {
	st := &RestoreTable{Table: p.tableNamed()}
	switch {
	case p.acceptWord("latest"):
	case strings.Trim(p.peek().BareText(), "0123456789") == "" && p.peek().Kind == lex.Word:
		st.Generation = p.number("the number of a backup, or latest: backups lists them", 1)
	}
	p.options(inRestoreTable, &target{renamedTable: &st.As, from: &st.From, moment: &st.At, travel: &st.Travel})
	checkMoment(st.At, st.Generation)
	return st
}

func parseRestore(p *parser) Statement {
	p.wantOneOf(ExpectKeyword, "latest", "table")
	if p.acceptWord("table") {
		return parseRestoreTable(p)
	}
	st := &Restore{}
	if !p.acceptWord("latest") {
		st.Generation = p.number("the number of a backup, or latest: backups lists them", 1)
	}
	p.optionsWithTo(inRestore, &target{to: &st.To, from: &st.From, moment: &st.At, overwrite: &st.Overwrite, travel: &st.Travel})
	checkMoment(st.At, st.Generation)
	return st
}

var checkpointVerb = verb{
	name: "checkpoint", parse: parseCheckpoint,
	help: helpTopic{
		summary: "copy the database to a directory",
		syntax:  "checkpoint 'DIR'", text: "DIR becomes a database with the state of one moment. On the same disk the files are linked, which takes hardly any time or space.",
	},
}

// Checkpoint makes a copy of the database in a directory.
type Checkpoint struct {
	Node
	Dir string
}

func (st *Checkpoint) print(w *printer) {
	w.words("checkpoint", lex.QuoteText(st.Dir))
}

func parseCheckpoint(p *parser) Statement {
	return &Checkpoint{Dir: p.file("a directory, as in 'copy'")}
}

// checkMoment refuses a moment together with the number of a backup.
func checkMoment(at *lex.Time, generation int) {
	if at != nil && generation > 0 {
		panic(lex.ErrorAt(at.Pos, "at finds the backup that leads to the moment itself; write latest in the place of %d", generation))
	}
}

func (w *printer) moment(at *lex.Time) {
	if at != nil {
		w.words("at", at.String())
	}
}

func (w *printer) place(word, text string) {
	if text != "" {
		w.words(word, lex.QuoteText(text))
	}
}

func (w *printer) travel(t Travel) {
	w.number("parallel", t.Parallel)
	if t.Rate > 0 {
		w.option("rate", strconv.FormatInt(t.Rate, 10))
	}
}
