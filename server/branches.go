package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/branches"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/data"
	"github.com/smolwc/smolwc/server/internal/statements"
	"github.com/smolwc/smolwc/views"
)

// BranchOptions serve the branches of a database: branch B is the instance B in the project of
// the server's own instance, and has the tables that have plain names in it. A branch is
// opened by the first call about it, and closed when no call used it for a while. A table of
// the database itself in an instance of this name hides it.
type BranchOptions struct {
	Dir branch.Dir
	// Database says how branches are opened. Memory is for all that are open together: each
	// one has 16 MiB, and at least one can be open. While all have calls, calls about
	// further branches fail with Unavailable.
	Database query.Options
	// Idle is how long a branch without calls stays open; 0 is a minute.
	Idle time.Duration
}

// branchMemory is the memory of an open branch.
const branchMemory = 16 << 20

// A branchServer serves branches. It is made with the gRPC server's services.
type branchServer struct {
	*names       // of the database
	o            BranchOptions
	logger       *slog.Logger
	leads        func() (ctx context.Context, stop func()) // of work that ends when the server stops or is replaced
	deadline     time.Duration
	likeBigtable bool // queries have only parts that Bigtable has
	follows      bool // another server is the primary, and branches are not opened

	pool *branches.Pool[*openBranch]
}

// begin makes the pool.
func (b *branchServer) begin() *branchServer {
	b.pool = &branches.Pool[*openBranch]{
		Open: b.open, Most: max(1, int(b.o.Database.Memory/branchMemory)), Idle: cmp.Or(b.o.Idle, time.Minute),
		Failed: func(name string, err error) { b.logger.Error("a branch cannot be closed", "branch", name, "err", err) },
	}
	return b
}

// An openBranch is the services of a branch.
type openBranch struct {
	names
	services branches.Services
	stop     func()
}

// Close implements branches.Opened.
func (o *openBranch) Close() error {
	o.stop()
	return o.catalog.DB.Close()
}

func (b *branchServer) instance(name string) wire.Instance {
	return wire.Instance{Project: b.catalog.Own.Project, ID: name}
}

func (b *branchServer) open(ctx context.Context, name string) (*openBranch, error) {
	began := time.Now()
	found, err := b.o.Dir.Get(name)
	if err != nil {
		return nil, err
	}
	o := b.o.Database
	o.Memory, o.MustExist = branchMemory, true
	db, err := query.Open(found.Dir, o)
	if err != nil {
		return nil, err
	}
	is, logger := &openBranch{services: branches.Services{}}, b.logger.With("branch", name)
	leads, end := b.leads()
	own := b.instance(name)
	if err := is.names.open(ctx, db, own, views.InBranch(db, own.String(), b.catalog.Own.String()), logger); err != nil {
		end()
		return nil, errors.Join(err, db.Close())
	}
	data.Register(leads, is.services, is.catalog, is.views, is.admin.ClusterOf, b.deadline, false, b.likeBigtable)
	is.admin.Register(is.services)
	statements.Register(is.services, is.catalog, nil)
	backups, keeper := is.admin.KeepBackups(leads), is.admin.KeepViews(leads)
	is.stop = func() { end(); keeper(); backups() }
	logger.Info("opened the branch", "duration", time.Since(began).Round(time.Millisecond))
	return is, nil
}

// named is the branch that a request is about; "" for the database itself, which also answers
// clients that have no rights to the branch: they open none.
func (b *branchServer) named(ctx context.Context, req any) (string, error) {
	name := branches.NameIn(req)
	in, rest, ok := wire.CutInstance(name)
	own := b.catalog.Own
	if !ok || in.Project != own.Project || in == own || branch.CheckName(in.ID) != nil {
		return "", nil
	}
	if _, creates := req.(*adminpb.CreateInstanceRequest); creates && rest != "" {
		return "", nil
	}
	if token := access.TokenOf(ctx).Within(in.Prefix()); token != nil && len(token.Grants) == 0 {
		return "", nil
	}
	if b.pool.Has(in.ID) {
		return in.ID, nil
	}
	if _, err := b.o.Dir.Get(in.ID); query.KindOf(err) == query.KindNotFound {
		return "", nil
	} else if err != nil {
		return "", err
	}
	if tableIn(b.catalog.DB, in) != "" {
		return "", nil
	}
	return in.ID, nil
}

// call makes a call about a branch.
func (b *branchServer) call(ctx context.Context, name, method string, req any, fn func(context.Context, branches.Service) error) error {
	if b.follows {
		return notHere(name)
	}
	is, using, done, err := b.pool.Use(ctx, name)
	switch {
	case errors.Is(err, branches.ErrFull), errors.Is(err, branches.ErrEnding):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, branches.ErrDropped):
		return status.Errorf(codes.NotFound, "branch %q was dropped", name)
	case err != nil:
		return catalog.Status(ctx, err)
	}
	defer done()
	token := access.TokenOf(ctx).Within(b.instance(name).Prefix())
	if token != nil {
		using = access.WithToken(using, token)
		if err := access.Authorize(token, method, is.resources(req)); err != nil {
			return err
		}
	}
	to, ok := is.services[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "a branch does not serve %s", method)
	}
	err = catalog.Status(using, fn(using, to))
	switch cause := context.Cause(using); {
	case err != nil && errors.Is(cause, branches.ErrDropped):
		return status.Errorf(codes.NotFound, "branch %q was dropped", name)
	case err != nil && errors.Is(cause, branches.ErrEnding):
		return status.Error(codes.Unavailable, cause.Error())
	}
	return err
}

// notHere is the error of a call about a branch at a server that is no longer the primary.
func notHere(name string) error {
	return status.Errorf(codes.FailedPrecondition, "branch %q is not served here while another server is the primary", name)
}

// Unary implements branches.Switch.
func (b *branchServer) Unary(ctx context.Context, method string, req any, own func() (any, error)) (resp any, err error) {
	if list, ok := req.(*adminpb.ListInstancesRequest); ok {
		return b.list(list, own)
	}
	if drop, ok := req.(*adminpb.DeleteInstanceRequest); ok {
		if in, ok := wire.CutBranch(drop.GetName()); ok && in.Project == b.catalog.Own.Project {
			return b.drop(ctx, in.ID) // also one that is hidden
		}
	}
	if get, ok := req.(*adminpb.GetInstanceRequest); ok {
		if in, ok := wire.CutBranch(get.GetName()); ok && in.Project == b.catalog.Own.Project {
			return b.get(ctx, in)
		}
	}
	name, err := b.named(ctx, req)
	switch {
	case err != nil:
		return nil, catalog.Status(ctx, err)
	case name == "":
		return own()
	}
	switch req := req.(type) {
	case *adminpb.CreateInstanceRequest:
		return nil, status.Errorf(codes.AlreadyExists, "%s is the branch %q of the database", b.instance(name), name)
	case *adminpb.DeleteInstanceRequest:
		if req.GetName() != b.instance(name).String() {
			return own() // which refuses the name
		}
		return b.drop(ctx, name)
	}
	err = b.call(ctx, name, method, req, func(ctx context.Context, to branches.Service) (err error) {
		resp, err = to.Unary(ctx, req)
		return err
	})
	return resp, err
}

func (b *branchServer) drop(ctx context.Context, name string) (any, error) {
	err := b.pool.Without(ctx, name, func() error { return b.o.Dir.Drop(ctx, name) })
	if err == nil {
		b.logger.Info("dropped the branch", "branch", name)
	}
	return &emptypb.Empty{}, catalog.Status(ctx, err)
}

// Stream implements branches.Switch.
func (b *branchServer) Stream(ctx context.Context, method string, req any, own func() error, other func(context.Context, branches.Service) error) error {
	name, err := b.named(ctx, req)
	switch {
	case err != nil:
		return catalog.Status(ctx, err)
	case name == "":
		return own()
	}
	return b.call(ctx, name, method, req, other)
}

// get is a branch as an instance, if calls about the instance reach the branch. It opens none.
func (b *branchServer) get(ctx context.Context, in wire.Instance) (any, error) {
	found, err := b.o.Dir.Get(in.ID)
	if err != nil {
		return nil, catalog.Status(ctx, err)
	}
	if b.follows {
		return nil, notHere(in.ID)
	}
	if b.hidden(in) {
		return nil, status.Errorf(codes.FailedPrecondition, "the branch %q is hidden: the database has tables in %s", in.ID, in)
	}
	return b.described(found), nil
}

// hidden reports whether an instance is the database's own, or has tables in it.
func (b *branchServer) hidden(in wire.Instance) bool {
	return in == b.catalog.Own || tableIn(b.catalog.DB, in) != ""
}

func (b *branchServer) described(found branch.Branch) *adminpb.Instance {
	return &adminpb.Instance{
		Name: b.instance(found.Name).String(), DisplayName: found.Name, State: adminpb.Instance_READY, Type: adminpb.Instance_PRODUCTION, CreateTime: timestamppb.New(found.Created),
	}
}

// list adds the branches to the instances of their project. It opens none.
func (b *branchServer) list(req *adminpb.ListInstancesRequest, own func() (any, error)) (any, error) {
	resp, err := own()
	if own := b.catalog.Own.Project; err != nil || req.GetParent() != "projects/"+own {
		return resp, err
	}
	all, err := b.o.Dir.List()
	if err != nil { // of branches that are damaged
		b.logger.Warn("branches cannot be read", "err", err)
	}
	list := resp.(*adminpb.ListInstancesResponse)
	for _, found := range all {
		if !b.hidden(b.instance(found.Name)) {
			list.Instances = append(list.Instances, b.described(found))
		}
	}
	return list, nil
}

// checkpoint is how a branch is copied that the server may have open.
func (b *branchServer) checkpoint(name string) func(context.Context, string) error {
	return func(ctx context.Context, dir string) error {
		is, ctx, done, err := b.pool.Use(ctx, name)
		if err != nil {
			return fmt.Errorf("open the branch: %w", err)
		}
		defer done()
		return is.catalog.DB.Checkpoint(ctx, dir)
	}
}

// branchOf looks up a branch of the database, and how it is copied; nil means that nobody has
// it open here. b is nil where branches are not served.
func (n *names) branchOf(b *branchServer, name string) (found branch.Branch, checkpoint func(context.Context, string) error, err error) {
	if b != nil && !b.follows {
		found, err = b.o.Dir.Get(name)
		return found, b.checkpoint(name), err
	}
	dir := n.catalog.DB.Plumbing().FilesDir()
	if dir == "" {
		return found, nil, status.Error(codes.FailedPrecondition, "only a database in a directory has branches")
	}
	d, err := branch.Of(dir)
	if err == nil {
		found, err = d.Get(name)
	}
	return found, nil, err
}
