package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A VerifyReport is what a verification found.
type VerifyReport struct {
	Generations int // verified
	Objects     int // read to their end
	Bytes       int64
	// Unused are the objects that no generation needs: an interrupted backup sent
	// them, or a prune left them.
	Unused  int
	Damage  []*DamageError // by generation, then file
	Elapsed time.Duration
}

// Verify reads every byte of the archive and compares it with its checksum.
// The report lists all damage; if there is any, the error matches [ErrDamaged].
func (a *Archive) Verify(ctx context.Context, o Options) (VerifyReport, error) {
	began := time.Now()
	v := &verifier{a: a, uses: map[string][]use{}}
	err := v.run(ctx, o)
	v.report.Elapsed = time.Since(began)
	return v.report, a.fail("verify backups", err)
}

// A verifier is one verification under way.
type verifier struct {
	a      *Archive
	report VerifyReport
	mu     sync.Mutex
	uses   map[string][]use // of objects
	// objects are the objects to read, with their sizes; -1 is an unknown size.
	objects map[string]int64
}

// A use is a file of a generation.
type use struct {
	generation int
	file
}

func (v *verifier) run(ctx context.Context, o Options) error {
	if err := v.a.ready(ctx); err != nil {
		return err
	}
	all, err := v.a.manifests(ctx)
	if err != nil {
		return err
	}
	for _, f := range all {
		v.report.Generations++
		if f.err != nil {
			d, _ := errors.AsType[*DamageError](f.err)
			v.damaged(d)
			continue
		}
		for _, x := range f.m.Files {
			key := objectKey(x.Sum)
			v.uses[key] = append(v.uses[key], use{f.id, x})
		}
	}
	if v.objects, err = v.a.bucket.list(ctx, objectsPrefix); err != nil {
		return err
	}
	if err := v.readAll(ctx, o); err != nil {
		return err
	}
	return v.conclude(ctx)
}

// readAll reads all objects of the archive, and finds those that are missing.
func (v *verifier) readAll(ctx context.Context, o Options) error {
	var total int64
	for key, size := range v.objects {
		if _, ours := objectSum(key); !ours {
			v.damaged(&DamageError{Object: key, Problem: "its name is not a SHA-256"})
			delete(v.objects, key)
			continue
		}
		if len(v.uses[key]) == 0 {
			v.report.Unused++
		}
		total += size
	}
	l := newLine(o, "verifying", total)
	defer l.finish()
	for key := range v.uses {
		if _, ok := v.objects[key]; !ok {
			v.objects[key] = -1 // reading it reports that it is missing
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.parallel())
	for _, key := range slices.Sorted(maps.Keys(v.objects)) {
		g.Go(func() error { return v.read(ctx, key, l) })
	}
	return g.Wait()
}

func (v *verifier) read(ctx context.Context, key string, l *line) error {
	sum, _ := objectSum(key)
	err := retried(ctx, func() error { return v.a.readObject(ctx, sum, -1, l, io.Discard) })
	damage, isDamage := errors.AsType[*DamageError](err)
	if err != nil && !isDamage {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Objects++
	v.report.Bytes += max(0, v.objects[key])
	problem := ""
	if isDamage {
		problem = damage.Problem
	}
	for _, u := range v.uses[key] {
		if problem == "" && v.objects[key] != u.Size {
			v.damaged(&DamageError{u.generation, u.Name, key, fmt.Sprintf("it has %d bytes and should have %d", v.objects[key], u.Size)})
		}
		if problem != "" {
			v.damaged(&DamageError{u.generation, u.Name, key, problem})
		}
	}
	if problem != "" && len(v.uses[key]) == 0 {
		v.damaged(damage)
	}
	return nil
}

func (v *verifier) damaged(d *DamageError) { v.report.Damage = append(v.report.Damage, d) }

// conclude sorts the damage, and omits damage of generations that were pruned
// meanwhile.
func (v *verifier) conclude(ctx context.Context) error {
	left, err := v.a.bucket.list(ctx, generationsPrefix)
	if err != nil {
		return err
	}
	v.report.Damage = slices.DeleteFunc(v.report.Damage, func(d *DamageError) bool {
		_, still := left[manifestKey(d.Generation)]
		return d.Generation > 0 && !still
	})
	slices.SortFunc(v.report.Damage, func(a, b *DamageError) int {
		if a.Generation != b.Generation {
			return a.Generation - b.Generation
		}
		return slices.Compare([]string{a.File, a.Object}, []string{b.File, b.Object})
	})
	switch n := len(v.report.Damage); n {
	case 0:
		return nil
	case 1:
		return v.report.Damage[0]
	default:
		return fmt.Errorf("%w, and %d more are damaged", v.report.Damage[0], n-1)
	}
}
