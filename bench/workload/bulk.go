package workload

import (
	"context"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/write"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/query"
)

func (e *Env) bulk() []contest.Workload {
	return []contest.Workload{{
		Name: "write/bulk", Unit: "cell", Open: e.openBulk,
		About: "a bulk load of rows in random order; in C a sort, SstFileWriter and ingestion; beside it our own write path",
	}}
}

// fileBytes is the size of C's table files; it is RocksDB's default.
const fileBytes = 64 << 20

func (e *Env) openBulk(_ context.Context, _ int) (*contest.Contest, error) {
	f := e.fill(true, 1000, query.DurabilityAsync)
	cs := []contest.Contender{
		e.writingC(nameC, plainFamily, query.DurabilityAsync, func(fs []yardstick.Family, dir string) (contest.Done, error) {
			files := filepath.Join(filepath.Dir(dir), "files") // beside the database, on the same file system
			if err := os.Mkdir(files, 0o755); err != nil {
				return contest.Done{}, err
			}
			return f.done(cellsOf(fs[0].BulkLoad(f.cells, f.bytes, files, fileBytes)))
		}),
	}
	cs = append(cs, e.writingSmolwc(nameSmolwc, plainFamily, query.DurabilityAsync, f.bulkLoad)...)
	cs = append(cs, e.writingSmolwc("smolwc, writes of 1,000 cells", plainFamily, query.DurabilityAsync, func(ctx context.Context, db *query.DB) (contest.Done, error) {
		return f.done(int64(f.cells.Len()), f.smolwc(ctx, db, 0, len(f.rows), nil))
	})...)
	return &contest.Contest{Contenders: cs}, nil
}

func (f *fill) bulkLoad(ctx context.Context, db *query.DB) (contest.Done, error) {
	return f.loadInto(ctx, db.Table(tableName))
}

func (f *fill) loadInto(ctx context.Context, t *query.Table) (done contest.Done, err error) {
	l, err := t.BulkLoad(ctx, query.BulkOptions{})
	if err != nil {
		return done, err
	}
	defer func() { err = joinClose(err, l.Close) }()
	for i := range f.rows {
		m := write.NewMutation()
		f.set(m, i)
		if err := l.Apply(f.keys[i], m); err != nil {
			return done, err
		}
	}
	result, err := l.Commit(ctx)
	return f.done(result.Cells, err)
}
