package archive

import (
	"context"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
)

// A PruneResult is what a prune removed.
type PruneResult struct {
	Generations int
	Objects     int
	Bytes       int64
}

// Prune removes all but the newest keep generations, at least 1, and those that package moments
// needs, and then the objects that no generation needs. It may be interrupted at any moment: every
// generation left is whole, and the next prune continues. A damaged manifest may
// need any object: then no object is removed, and the error names the manifest.
func (a *Archive) Prune(ctx context.Context, keep int) (PruneResult, error) {
	const op = "prune backups"
	if err := a.mayPrune(ctx, keep); err != nil {
		return PruneResult{}, a.fail(op, err)
	}
	held, unlock, err := a.bucket.lock(ctx)
	if err != nil {
		return PruneResult{}, a.fail(op, err)
	}
	defer unlock()
	res, err := a.prune(ctx, func(good []*manifest) []*manifest { return good[:max(0, len(good)-keep)] }, held)
	return res, a.fail(op, err)
}

func (a *Archive) mayPrune(ctx context.Context, keep int) error {
	if err := a.ready(ctx); err != nil || keep >= 1 {
		return err
	}
	return targetErrorf("keep is %d; at least one backup has to stay", keep)
}

// WouldPrune says what [Archive.Prune] would remove, if package moments no longer needed the generations
// in free.
func (a *Archive) WouldPrune(ctx context.Context, keep int, free []int) (res PruneResult, err error) {
	defer func() { err = a.fail("look for backups to prune", err) }()
	if err := a.mayPrune(ctx, keep); err != nil {
		return res, err
	}
	all, needed, err := a.known(ctx)
	if err != nil {
		return res, err
	}
	good := intact(all)
	old, stay := good[:max(0, len(good)-keep)], slices.Clone(good[max(0, len(good)-keep):])
	for _, m := range old {
		if needed[m.Generation] && !slices.Contains(free, m.Generation) {
			stay = append(stay, m)
		} else {
			res.Generations++
		}
	}
	if len(good) < len(all) { // a damaged manifest may need any object
		return res, nil
	}
	others, err := a.others(ctx, objectsOf(stay))
	for _, size := range others {
		res.Objects++
		res.Bytes += size
	}
	return res, err
}

// known returns all manifests, and the generations that package moments needs.
func (a *Archive) known(ctx context.Context) (all []found, needed map[int]bool, err error) {
	if all, err = a.manifests(ctx); err == nil {
		needed, err = a.neededByMoments(ctx)
	}
	return all, needed, err
}

// others are the sizes of the objects that are not needed, by their keys.
func (a *Archive) others(ctx context.Context, needed map[string]bool) (map[string]int64, error) {
	have, err := a.bucket.list(ctx, objectsPrefix)
	maps.DeleteFunc(have, func(key string, _ int64) bool {
		_, ours := objectSum(key)
		return !ours || needed[key]
	})
	return have, err
}

// objectsOf are the keys of the objects that generations need.
func objectsOf(all []*manifest) map[string]bool {
	keys := map[string]bool{}
	for _, m := range all {
		for _, f := range m.Files {
			keys[objectKey(f.Sum)] = true
		}
	}
	return keys
}

// prune removes the intact generations that surplus selects, while the lock is held. The
// manifests go first, the oldest before the others, so that no manifest ever lacks its
// objects.
func (a *Archive) prune(ctx context.Context, surplus func([]*manifest) []*manifest, held func(context.Context) error) (res PruneResult, err error) {
	all, needed, err := a.known(ctx)
	if err != nil {
		return res, err
	}
	good := intact(all)
	for _, m := range surplus(good) {
		if needed[m.Generation] {
			continue
		}
		if err := held(ctx); err != nil {
			return res, err
		}
		if err := a.bucket.remove(ctx, manifestKey(m.Generation)); err != nil {
			return res, err
		}
		good = slices.DeleteFunc(slices.Clone(good), func(g *manifest) bool { return g == m })
		res.Generations++
	}
	for _, f := range all {
		if f.err != nil {
			return res, errors.Join(f.err, errors.New("it is not known which objects it needs, so no object was removed; remove this manifest if you do not need it"))
		}
	}
	return res, a.removeOthers(ctx, objectsOf(good), held, &res)
}

func (a *Archive) removeOthers(ctx context.Context, needed map[string]bool, held func(context.Context) error, res *PruneResult) error {
	others, err := a.others(ctx, needed)
	if err != nil {
		return err
	}
	if err := held(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(DefaultParallel)
	for key, size := range others {
		res.Objects++
		res.Bytes += size
		g.Go(func() error { return errors.Join(ctx.Err(), a.bucket.remove(ctx, key)) })
	}
	return g.Wait()
}
