package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
)

// dryRun reads the whole file and writes nothing.
func (im *importer) dryRun(ctx context.Context) error {
	size, _, err := im.spec.checkFiles()
	if err != nil {
		return err
	}
	im.size = size
	var seen looker
	err = im.accounted(ctx, func() error {
		return im.scan(ctx, scanning{title: "checking", warn: im.spec.Warn, all: true, use: func(r row) error {
			seen.cells(r)
			return im.wrote.add(r)
		}})
	})
	im.result.Fields = seen.result()
	if err != nil { // nothing is written
		im.result.Rows, im.result.Cells, im.result.Records = 0, 0, 0
	}
	return err
}

// reportFields reports the fields of files for which no columns are given.
func (im *importer) reportFields(ctx context.Context) error {
	seen := looker{na: im.spec.NA}
	var first *LineError
	for _, path := range im.spec.paths() {
		if err := im.fieldsOf(ctx, path, &seen, &first); err != nil {
			return err
		}
	}
	im.result.Fields = seen.result()
	if im.result.BadLines > int64(im.spec.BadLines) {
		return &Error{Err: first, BadLines: im.result.BadLines}
	}
	return nil
}

func (im *importer) fieldsOf(ctx context.Context, path string, seen *looker, first **LineError) error {
	f, err := im.spec.format()
	if err != nil {
		return err
	}
	f = f.of(path, im.spec.In)
	src, err := openSource(ctx, path, im.spec.In, f, nil)
	if err != nil {
		return err
	}
	defer src.close()
	next, err := eachField(path, src, f, im.spec.Dialect, seen)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad := (*LineError)(nil); errors.As(err, &bad) {
			im.result.BadLines += int64(bad.Lines)
			*first = cmp.Or(*first, bad)
			continue
		}
		if err != nil {
			return err
		}
		im.result.Records++
	}
	return ctx.Err()
}

// look shows the members of the next object to a looker. Members of objects within it are
// shown by their paths.
func (j *jsonReader) look(seen *looker) error {
	rec := record{file: j.file}
	text, err := j.readLine()
	for err == nil && len(strings.TrimSpace(string(text))) == 0 {
		text, err = j.readLine()
	}
	if err != nil {
		return err
	}
	raw := strings.TrimSpace(string(text))
	rec.line, rec.lines = j.line, 1
	if bad := checkObject(raw, &rec); bad != nil {
		return bad
	}
	eachMember(raw, func(name, value string) {
		j.note(name)
		path := "$" + stepText(name)
		if name == "" || isPath(name) {
			name = path
		}
		lookInto(seen, FieldReport{Field: name}, path, value, 0)
	})
	return nil
}

// deepest is how deep a dry run looks into objects.
const deepest = 8

func lookInto(seen *looker, as FieldReport, path, raw string, depth int) {
	f, problem := fieldOf(raw)
	switch {
	case problem != "" || f.state == absent:
	case f.state == present || f.state == bare:
		seen.see(as, f.text, true)
	case raw[0] == '{' && depth < deepest:
		eachMember(raw, func(member, value string) {
			at := path + stepText(member)
			lookInto(seen, FieldReport{Field: at, of: path}, at, value, depth+1)
		})
	default:
		as.Field = path
		seen.see(as, raw, false)
	}
}

// look shows the fields of a file.
func look(ctx context.Context, spec Spec) (Result, error) {
	im := &importer{spec: spec}
	err := im.reportFields(ctx)
	return im.result, err
}

// looks reports whether a dry run shows the fields of a file, for which it needs no table.
func (s *Spec) looks() bool { return s.DryRun && s.Key == "" && len(s.Columns) == 0 }
