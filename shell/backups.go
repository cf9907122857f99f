package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// operator returns the maker of backups of the session's database.
func (s *Session) operator() operator {
	if s.opt.Remote != nil {
		return s.opt.Remote
	}
	return moments.Local{Local: archive.Local{DB: s.db}}
}

// copied adds a hint to the read-only error of a database that is open in another
// process: the command with which that process does the work.
func copied(err error, words ...string) error {
	if errors.Is(err, query.ErrReadOnly) {
		return fmt.Errorf("%w; %s", err, Served(words...))
	}
	return err
}

// Served returns the command that makes a server do the work on a database that it
// serves. Paths among the words should be absolute.
func Served(words ...string) string {
	command := "smolwc"
	for _, w := range words {
		if strings.ContainsFunc(w, unsafeInShell) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		command += " " + w
	}
	return "if smolwc serve has it open, let the server do it: " + command + " --addr " + usualAddr
}

// usualAddr is the default address of smolwc serve.
const usualAddr = "127.0.0.1:8086"

// unsafeInShell reports whether a character may be special to the system's shell.
func unsafeInShell(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/.:_-+=@%", r)
}

func (s *Session) travel(t ql.Travel) archive.Options {
	return archive.Options{Parallel: t.Parallel, Rate: t.Rate, Progress: s.progress()}
}

func (s *Session) backup(ctx context.Context, st *ql.Backup) (exec.Result, error) {
	res, err := s.operator().BackUp(ctx, st.To, archive.BackupOptions{Options: s.travel(st.Travel), Keep: st.Keep})
	if res.ID == 0 {
		return nil, copied(err, "backup", st.To)
	}
	s.note("backed up as %d: %s, %s (%s sent) in %s", res.ID, humanize.Plural(res.Files, "file"), humanize.Size(res.Size), humanize.Size(res.SentBytes), humanize.Elapsed(res.Elapsed))
	if p := res.Pruned; p.Generations > 0 || p.Objects > 0 {
		s.note("pruned %s, which gave back %s", humanize.Plural(p.Generations, "backup"), humanize.Size(p.Bytes))
	}
	if err != nil {
		return nil, err
	}
	return listBackups([]archive.Generation{res.Generation}), nil
}

func (s *Session) backups(ctx context.Context, st *ql.Backups) (exec.Result, error) {
	all, err := s.operator().ListBackups(ctx, st.In)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Damaged != "" {
			s.note("%s", lex.Escape(g.Damaged))
		}
	}
	r, err := s.operator().Moments(ctx, st.In)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		s.note("%v", noBackups(st.In))
	}
	s.noteMoments(r)
	return listBackups(all), nil
}

// noteMoments says which moments can be restored, if there is anything to say.
func (s *Session) noteMoments(r moments.Report) {
	if r.Segments == 0 {
		return
	}
	at := func(t time.Time) string { return lex.FormatTimestamp(cells.TimestampOf(t), s.runner.Zone) }
	if r.Earliest.IsZero() {
		s.note("no moment can be restored yet: no backup leads to the %s of the log", humanize.Plural(r.Segments, "segment"))
	} else {
		s.note("each moment from %s to %s can be restored; the last is %s old, position %d: %s of the log, %s, after %s", at(r.Earliest), at(r.Latest), humanize.Elapsed(max(0, time.Since(r.Latest))), r.Position,
			humanize.Plural(r.Segments, "segment"), humanize.Size(r.Bytes), humanize.Plural(r.Bases, "backup"))
	}
	for _, g := range r.Gaps {
		if g.To.IsZero() {
			s.note("but for a gap from %s on, until the next backup: %s", at(g.From), g.Reason)
			continue
		}
		s.note("but for a gap from %s to %s: %s", at(g.From), at(g.To), g.Reason)
	}
	for _, d := range r.Damage {
		s.note("%s", lex.Escape(d.Error()))
	}
}

// listBackups lists a line for each backup. For a backup with a damaged manifest it
// knows only the number.
func listBackups(all []archive.Generation) *exec.Listing {
	l := &exec.Listing{Columns: []string{"backup", "time", "bytes", "new_bytes", "files", "state"}}
	for _, g := range all {
		if g.Damaged != "" {
			l.Lines = append(l.Lines, []any{int64(g.ID), "", "", "", "", "damaged"})
			continue
		}
		l.Lines = append(l.Lines, []any{int64(g.ID), g.Time.UTC().Format(time.RFC3339), g.Size, g.NewBytes, int64(g.Files), "ok"})
	}
	return l
}

func (s *Session) restore(ctx context.Context, st *ql.Restore) (exec.Result, error) {
	if strings.Contains(st.To, "://") {
		return nil, fmt.Errorf("restore: it makes a database in a directory; smolwc copy brings that to %s", st.To)
	}
	from, err := archive.Local{DB: s.db}.Target(ctx, st.From)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	o := archive.RestoreOptions{Options: s.travel(st.Travel), Overwrite: st.Overwrite}
	if st.At != nil {
		m, err := s.momentOf(st.At)
		if err != nil {
			return nil, err
		}
		res, err := moments.Restore(ctx, a, m, st.To, moments.RestoreOptions{RestoreOptions: o, Planned: s.planned})
		if err != nil {
			return nil, err
		}
		s.noteRestored(res, " to "+st.To)
		return &exec.Done{}, nil
	}
	res, err := a.Restore(ctx, st.Generation, st.To, o)
	if err != nil {
		return nil, err
	}
	s.note("restored backup %d of %s to %s: %s, %s, in %s", res.ID, lex.FormatTimestamp(cells.TimestampOf(res.Time), nil), st.To, humanize.Plural(res.Files, "file"), humanize.Size(res.Size), humanize.Elapsed(res.Elapsed))
	return &exec.Done{}, nil
}

// positions are below this number, and times in microseconds above it.
const positions = 1_000_000_000_000_000

// momentOf is the moment that a statement names.
func (s *Session) momentOf(at *lex.Time) (moments.Moment, error) {
	ts, err := at.Resolve(s.runner.Database().Now())
	if err != nil {
		return moments.Moment{}, err
	}
	if !at.Now && ts > 0 && ts < positions {
		return moments.Moment{Position: uint64(ts)}, nil
	}
	return moments.Moment{Time: ts.Time()}, nil
}

// ParseMoment reads a moment as statements have it: a time, or a position of the log, which
// is a number below 10^15.
func ParseMoment(text string) (moments.Moment, error) {
	if at, err := strconv.ParseUint(text, 10, 64); err == nil && at > 0 && at < positions {
		return moments.Moment{Position: at}, nil
	}
	at, err := lex.ParseTime(lex.Pos{}, text)
	if err != nil {
		return moments.Moment{}, err
	}
	ts, err := at.Resolve(cells.TimestampOf(time.Now()))
	return moments.Moment{Time: ts.Time()}, err
}

// planned says what a restore reads.
func (s *Session) planned(p moments.Plan) error {
	s.note("reading backup %d, %s, and %s of the log, %s", p.Backup.ID, humanize.Size(p.Backup.Size), humanize.Plural(p.Segments, "segment"), humanize.Size(p.Bytes))
	return nil
}

// noteRestored says what a restore of a moment reached.
func (s *Session) noteRestored(res moments.Restored, to string) {
	s.note("restored the moment %s%s: position %d, whose last commit was at %s; %s replayed in %s", lex.FormatTimestamp(cells.TimestampOf(res.Until), s.runner.Zone), to,
		res.Position, lex.FormatTimestamp(cells.TimestampOf(res.Time), s.runner.Zone), humanize.Plural(res.Records, "record"), humanize.Elapsed(res.Elapsed))
	for _, family := range slices.Sorted(maps.Keys(res.Expires)) {
		s.note("cells of %s expire after %s, by the clock of now: older ones are not shown", family, schema.FormatAge(res.Expires[family]))
	}
}

// restoreTable brings one table back.
func (s *Session) restoreTable(ctx context.Context, st *ql.RestoreTable) (exec.Result, error) {
	name := cmp.Or(st.As.Text, st.Table.Text)
	t := moments.TableRestore{Table: st.Table.Text, As: name, Backup: st.Generation}
	o := moments.RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: s.travel(st.Travel)}}
	if st.At != nil {
		m, err := s.momentOf(st.At)
		if err != nil {
			return nil, err
		}
		t.At, o.Planned = &m, s.planned
	}
	res, err := s.operator().RestoreTable(ctx, st.From, t, o)
	if e, ok := errors.AsType[*query.Error](err); ok && e.Kind == query.KindNotFound && e.Table == st.Table.Text {
		return nil, &lex.Error{Pos: st.Table.Pos, Msg: e.Err.Error()}
	}
	if err != nil {
		return nil, err
	}
	if st.At != nil {
		s.noteRestored(res, "")
	}
	s.note("restored table %s as of %s in %s", name, lex.FormatTimestamp(cells.TimestampOf(res.Until), s.runner.Zone), humanize.Elapsed(res.Elapsed))
	return &exec.Done{}, nil
}

func (s *Session) verify(ctx context.Context, st *ql.Verify) (exec.Result, error) {
	res, err := s.operator().VerifyBackups(ctx, st.In, s.travel(st.Travel))
	if len(res.Damage) > 1 {
		for _, d := range res.Damage {
			s.note("%s", lex.Escape(d.Error()))
		}
	}
	if err != nil {
		return nil, err
	}
	if res.Generations > 0 {
		s.note("verified %s: %s, %s, in %s", humanize.Plural(res.Generations, "backup"), humanize.Plural(res.Objects, "file"), humanize.Size(res.Bytes), humanize.Elapsed(res.Elapsed))
	}
	segments, err := s.verifyMoments(ctx, st)
	if err == nil && res.Generations == 0 && segments == 0 {
		err = noBackups(st.In)
	}
	return &exec.Done{}, err
}

// noBackups says that there are none, which may be a mistake in the name of the place.
func noBackups(place string) error {
	if place == "" {
		return errors.New("there are no backups where the database was backed up to last")
	}
	return fmt.Errorf("there are no backups in %s", place)
}

// verifyMoments verifies the segments of the log, and returns how many there are.
func (s *Session) verifyMoments(ctx context.Context, st *ql.Verify) (segments int, err error) {
	r, err := s.operator().VerifyMoments(ctx, st.In, moments.VerifyOptions{Options: s.travel(st.Travel), Sample: st.Sample})
	if len(r.Damage) > 1 {
		for _, d := range r.Damage {
			s.note("%s", lex.Escape(d.Error()))
		}
	}
	if err != nil {
		return 0, err
	}
	if r.Segments > 0 {
		s.note("verified %s of the log, %s, %s, in %s", humanize.Plural(r.Segments, "segment"), humanize.Size(r.Bytes), humanize.Plural(r.Records, "record"), humanize.Elapsed(r.Elapsed))
		s.noteMoments(r)
	}
	if r.Samples > 0 {
		s.note("restored and checked %s", humanize.Plural(r.Samples, "random moment"))
	}
	return r.Segments, nil
}
