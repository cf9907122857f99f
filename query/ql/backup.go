package ql

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// Travel says how files travel.
type Travel struct {
	Parallel int   // how many at once; 0: not said
	Rate     int64 // bytes a second; 0: no bound
}

// moving is where the options of these statements put what they read.
type moving struct {
	to, from, as string
	wide         []Field
	bytes        string
	overwrite    bool
	keep         int
	travel       Travel
}

// movingOptions are part of the table of all options.
func movingOptions() []*option {
	number := func(least int, of func(*moving) *int) func(*parser, *target) error {
		return func(p *parser, to *target) (err error) {
			*of(to.moving), err = p.number("a number", least)
			return err
		}
	}
	text := func(what string, of func(*moving) *string) func(*parser, *target) error {
		return func(p *parser, to *target) (err error) {
			p.wantKind(ExpectFile)
			*of(to.moving), err = p.text(what)
			return err
		}
	}
	const place = "a directory or s3://BUCKET/PREFIX, in quotes"
	return []*option{
		{name: "to", in: inExport, parse: text("a file, as in 'fleet.parquet'", func(m *moving) *string { return &m.to })},
		{name: "to", in: inBackup, parse: text(place, func(m *moving) *string { return &m.to })},
		{name: "to", in: inRestore, parse: text("a directory, as in 'restored'", func(m *moving) *string { return &m.to })},
		{name: "from", in: inRestore, parse: text(place, func(m *moving) *string { return &m.from })},
		{name: "in", in: inBackups | inVerify, parse: text(place, func(m *moving) *string { return &m.from })},
		{name: "as", value: strings.Join(ExportFormats, "|"), in: inExport, parse: oneOf("a format", ExportFormats, func(m *moving) *string { return &m.as })},
		{name: "wide", value: "FAM:QUAL[=FIELD[:TYPE]],..", in: inExport, parse: (*parser).wideOption},
		{name: "bytes", value: strings.Join(BytesForms, "|"), in: inExport, parse: oneOf("a form", BytesForms, func(m *moving) *string { return &m.bytes })},
		{name: "overwrite", in: inExport | inRestore, parse: flagOption(func(to *target) *bool { return &to.moving.overwrite })},
		{name: "keep", value: "N", in: inBackup, parse: number(1, func(m *moving) *int { return &m.keep })},
		{name: "parallel", value: "N", in: inBackup | inRestore | inVerify, parse: number(1, func(m *moving) *int { return &m.travel.Parallel })},
		{name: "rate", value: "SIZE", in: inBackup | inRestore | inVerify, parse: (*parser).rateOption},
	}
}

// oneOf parses one of some names.
func oneOf(what string, names []string, of func(*moving) *string) func(*parser, *target) error {
	return func(p *parser, to *target) error {
		p.wantOneOf(ExpectChoice, names...)
		if word := p.peek().Keyword(); slices.Contains(names, word) {
			p.next()
			*of(to.moving) = word
			return nil
		}
		return p.unexpected("%s, one of %s", what, strings.Join(names, ", "))
	}
}

var sizeText = regexp.MustCompile(`^(\d+)([kmg]?)(i?)b?$`)

// rateOption parses 50MB, 64KiB, 1000000.
func (p *parser) rateOption(to *target) error {
	p.wantText(ExpectNumber, "bytes a second")
	t := p.peek()
	m := sizeText.FindStringSubmatch(strings.ToLower(t.BareText()))
	if m == nil {
		return p.unexpected("bytes a second, as in 50MB or 64KiB")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := int64(1000)
	if m[3] != "" {
		unit = 1024
	}
	for range strings.Index(" kmg", m[2]) {
		if n > math.MaxInt64/unit {
			err = strconv.ErrRange
			break
		}
		n *= unit
	}
	if err != nil || n < 1 {
		return p.unexpected("bytes a second, as in 50MB or 64KiB")
	}
	p.next()
	to.moving.travel.Rate = n
	return nil
}

// moves parses what is left of one of these statements; need are options that
// it cannot do without.
func (p *parser) moves(in optionSet, to *target, need ...string) error {
	to.moving = &moving{}
	if err := p.options(in, to); err != nil {
		return err
	}
	for _, name := range need {
		if _, ok := to.seen[name]; !ok {
			return p.unexpected("%s", name)
		}
	}
	return nil
}

var backupVerb = verb{
	name: "backup", parse: parseBackup,
	help: helpTopic{
		summary: "back the database up",
		syntax:  "backup [to 'DIR' | to 's3://BUCKET/PREFIX?endpoint=URL'] [keep=N] [parallel=N] [rate=SIZE]",
		text: "Reads and writes go on; the backup is one moment of all tables. Only files that no earlier backup has are sent.\n" +
			"Without to it goes where the last one went. keep= prunes all but the newest N. rate= bounds the bytes a second: 50MB.\n" +
			"Over the network the server does it: a directory is one of its machine, and access keys are those of its environment.\n\n" +
			"Example:\n  backup to '/backups/fleet' keep=7",
	},
}

// Backup backs the database up.
type Backup struct {
	Node
	To   string // "": where it was backed up to last
	Keep int    // how many generations stay; 0: all
	Travel
}

func (st *Backup) print(w *printer) {
	w.words("backup")
	w.place("to", st.To)
	w.number("keep", st.Keep)
	w.travel(st.Travel)
}

func parseBackup(p *parser) (Statement, error) {
	to := &target{}
	err := p.moves(inBackup, to)
	return &Backup{To: to.moving.to, Keep: to.moving.keep, Travel: to.moving.travel}, err
}

var backupsVerb = verb{
	name: "backups", parse: parseBackups,
	help: helpTopic{
		summary: "list the backups",
		syntax:  "backups [in 'DIR' | in 's3://..']", text: "NEW BYTES are those that no earlier backup had. Without in it looks where the last backup went.",
	},
}

// Backups lists the generations.
type Backups struct {
	Node
	In string // "": where it was backed up to last
}

func (st *Backups) print(w *printer) {
	w.words("backups")
	w.place("in", st.In)
}

func parseBackups(p *parser) (Statement, error) {
	to := &target{}
	err := p.moves(inBackups, to)
	return &Backups{In: to.moving.from}, err
}

var verifyVerb = verb{
	name: "verify", parse: parseVerify,
	help: helpTopic{
		summary: "read all backups and compare them",
		syntax:  "verify [in 'DIR' | in 's3://..'] [parallel=N] [rate=SIZE]", text: "Reads every byte, compares it with its checksum, and names what is damaged.",
	},
}

// Verify reads all backups and compares them with their checksums.
type Verify struct {
	Node
	In string
	Travel
}

func (st *Verify) print(w *printer) {
	w.words("verify")
	w.place("in", st.In)
	w.travel(st.Travel)
}

func parseVerify(p *parser) (Statement, error) {
	to := &target{}
	err := p.moves(inVerify, to)
	return &Verify{In: to.moving.from, Travel: to.moving.travel}, err
}

var restoreVerb = verb{
	name: "restore", parse: parseRestore,
	help: helpTopic{
		summary: "make a database of a backup",
		syntax:  "restore N | latest to 'DIR' [from 'DIR' | from 's3://..'] [overwrite] [parallel=N] [rate=SIZE]",
		text: "DIR becomes a database of its own, when every byte has been compared with its checksum. A database that is there\n" +
			"is replaced only with overwrite, and never the one that is open.",
	},
}

// Restore makes a database of a generation in a directory.
type Restore struct {
	Node
	Generation int // 0: the newest
	To, From   string
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
	w.flag("overwrite", st.Overwrite)
	w.travel(st.Travel)
}

// parseRestore parses restore N|latest to 'dir' [from 'target'] [overwrite].
func parseRestore(p *parser) (Statement, error) {
	st := &Restore{}
	p.wantText(ExpectNumber, "the number of a backup")
	if !p.acceptWord("latest") {
		var err error
		if st.Generation, err = p.number("the number of a backup, or latest: backups lists them", 1); err != nil {
			return nil, err
		}
	}
	to := &target{}
	if err := p.moves(inRestore, to, "to"); err != nil {
		return nil, err
	}
	st.To, st.From, st.Overwrite, st.Travel = to.moving.to, to.moving.from, to.moving.overwrite, to.moving.travel
	return st, nil
}

var checkpointVerb = verb{
	name: "checkpoint", parse: parseCheckpoint,
	help: helpTopic{
		summary: "copy the database to a directory",
		syntax:  "checkpoint 'DIR'", text: "DIR becomes a database of its own, of one moment. On the same disk the files are linked, which takes hardly any time or space.",
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

func parseCheckpoint(p *parser) (Statement, error) {
	p.wantKind(ExpectFile)
	dir, err := p.text("a directory, as in 'copy'")
	return &Checkpoint{Dir: dir}, err
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
