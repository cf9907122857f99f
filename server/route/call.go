package route

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/account"
)

// A call is passed on to a server.
type call struct {
	*Router
	*method
	client  grpc.ServerStream
	links   *links
	hold    *account.Hold
	tally   *tally
	md      metadata.MD
	request frame
	place   place
	leader  bool // only the server that leads may answer
	sent    int
	begun   atomic.Bool // the client was sent something
	first   int64       // bytes of the first messages, which gRPC may have until the end
}

// handle passes a call on. The request of each method is one message.
func (r *Router) handle(_ any, client grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(client)
	m := r.methods[name]
	switch {
	case strings.HasPrefix(name, "/"+smolwcpb.Standbys_ServiceDesc.ServiceName+"/"):
		return status.Errorf(codes.FailedPrecondition, "a router does not pass %s on, since it is about one server; call the server itself", name)
	case m == nil:
		return status.Errorf(codes.Unimplemented, "a router does not pass %s on; if a server has the method, call the server itself", name)
	}
	ctx, leave, err := r.enter(client.Context())
	if err != nil {
		return err
	}
	defer leave()
	c := &call{Router: r, method: m, client: client, links: linksOf(ctx), hold: account.NewHold(ctx), tally: tallyOf(ctx)}
	defer c.end()
	if err := client.RecvMsg(&c.request); err != nil {
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.InvalidArgument, "the call has no request")
		}
		return err
	}
	c.md, _ = metadata.FromIncomingContext(ctx)
	instance, err := m.instance(c.md, c.request.data)
	if err != nil {
		return err
	}
	return c.run(ctx, instance)
}

// enter counts a call, and bounds its time. The returned function ends this.
func (r *Router) enter(ctx context.Context) (context.Context, func(), error) {
	n, l := r.calls.Add(1), linksOf(ctx)
	if limit := r.o.Limits.Calls; n > int64(limit) && !l.Idle() {
		r.calls.Add(-1)
		return nil, nil, status.Errorf(codes.Unavailable, "the router has %d calls under way and takes no more; try again", limit)
	}
	if !l.BeginCall() {
		r.calls.Add(-1)
		return nil, nil, status.Error(codes.Unavailable, "the router has no room for another call; try again when others have ended")
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Limits.Deadline)
	return ctx, func() { cancel(); l.EndCall(); r.calls.Add(-1) }, nil
}

// How long a server that no longer leads may take to answer a write, and the pause before a
// server that could not be reached is asked again.
const (
	lateWrite = time.Second
	pause     = 50 * time.Millisecond
)

// run asks the servers of the instance, one after the other, until one answers. While no
// server leads, or none can be reached, it waits. It asks again only if no server received
// the request, or if it reads and the client was sent nothing.
func (c *call) run(ctx context.Context, instance string) error {
	reads, err := c.readsOf()
	if err != nil {
		return err
	}
	c.leader = !c.reads || !reads.Standbys
	wait := time.NewTimer(c.o.Wait)
	defer wait.Stop()
	for {
		if c.place, err = c.find(instance); err != nil {
			return err
		}
		again, err := c.try(ctx, reads)
		if !again {
			return err
		}
		if stop := c.await(ctx, wait.C); stop != nil {
			return cmp.Or(err, stop)
		}
	}
}

// readsOf is which servers may answer: by the call's header, by its app profile, or as the
// router is set.
func (c *call) readsOf() (Reads, error) {
	if texts := c.md.Get(wire.ReadsHeader); len(texts) > 0 {
		reads, err := ParseReads(texts[0])
		if err != nil {
			err = status.Errorf(codes.InvalidArgument, "the header %s: %v", wire.ReadsHeader, err)
		}
		return reads, err
	}
	if len(c.o.Profiles) == 0 {
		return c.o.Reads, nil
	}
	for _, text := range c.md.Get(wire.ParamsHeader) {
		params, _ := url.ParseQuery(text) // a wrong part names nothing
		if reads, ok := c.o.Profiles[params.Get("app_profile_id")]; ok {
			return reads, nil
		}
	}
	return c.o.Reads, nil
}

// try asks the servers that may answer now. again is set if the call may be made again.
func (c *call) try(ctx context.Context, reads Reads) (again bool, err error) {
	servers := []string{c.place.leader}
	if !c.leader {
		servers = c.readers(c.place, reads)
	}
	for _, addr := range servers {
		if addr == "" {
			break
		}
		var next string
		next, again, err = c.ask(ctx, addr, c.leader)
		if next != "" {
			_, again, err = c.ask(ctx, next, false)
		}
		if !again {
			return false, err
		}
		c.askSooner(addr)
	}
	if err == nil {
		return c.nobody(c.place.resource)
	}
	return true, err
}

// await waits until another server may lead the instance, or for a pause if one leads. Its
// error says why the call can wait no longer.
func (c *call) await(ctx context.Context, late <-chan time.Time) error {
	c.metrics.waiting.Inc()
	defer c.metrics.waiting.Dec()
	var soon <-chan time.Time
	if c.place.leader != "" || !c.leader {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		soon = timer.C
	}
	select {
	case <-c.place.changed:
	case <-c.place.moved:
	case <-soon:
	case <-late:
		return status.Error(codes.Unavailable, "no server has answered")
	case <-c.closing.Done():
		return errStops
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// hop are headers that gRPC makes anew for each connection.
var hop = []string{":authority", "content-type", "user-agent", "te", "grpc-accept-encoding", wire.ReadsHeader}

// ask passes the call on to a server. next is the server that leads instead, if follow
// permits to ask it; again is set if the call may be made again: no server received it,
// or it only reads. In both cases the client was sent nothing.
func (c *call) ask(ctx context.Context, addr string, follow bool) (next string, again bool, err error) {
	c.tally.server = addr
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := c.links.to(addr)
	if err != nil {
		return "", false, err
	}
	md := c.md.Copy()
	for _, name := range hop {
		delete(md, name)
	}
	stream, err := conn.NewStream(metadata.NewOutgoingContext(ctx, md), &grpc.StreamDesc{ServerStreams: true}, "/"+c.name)
	if err != nil {
		return "", status.Code(err) == codes.Unavailable, c.about(addr, err)
	}
	if c.leader {
		go c.untilMoved(ctx, addr, c.place, cancel)
	}
	if err := stream.SendMsg(&c.request); err != nil && !errors.Is(err, io.EOF) {
		return "", false, err
	}
	header, err := stream.Header()
	if err != nil || header == nil {
		again, err = c.refused(addr, stream)
	} else if says := header.Get(wire.LeaderHeader); c.leader && len(says) > 0 {
		switch {
		case follow && says[0] != "" && says[0] != addr && c.learn(c.place, addr, says[0]):
			return says[0], false, nil
		case c.reads: // its rows may be old
			return "", true, status.Errorf(codes.Unavailable, "%s, for %s: it takes no writes, and the call is for the server that does", addr, c.place.resource.Name)
		}
		err = c.answer(stream, header)
		known := says[0] == "" || slices.Contains(serversOf(c.place.resource), says[0])
		again = known && status.Code(err) == codes.FailedPrecondition && !c.begun.Load() // it wrote nothing
	} else {
		err = c.answer(stream, header)
	}
	if cause := context.Cause(ctx); errors.Is(cause, errMoved) || errors.Is(cause, errLate) || errors.Is(cause, errStops) {
		return "", c.reads && !c.begun.Load() && !errors.Is(cause, errStops), cause
	}
	return "", again, err
}

// refused is the outcome of a call that ends without headers: its server refused it, found
// nothing, or cannot be reached.
func (c *call) refused(addr string, stream grpc.ClientStream) (again bool, err error) {
	var none frame
	switch err = stream.RecvMsg(&none); {
	case err == nil:
		none.data.Free()
		return false, status.Errorf(codes.Internal, "%s answers without headers", addr)
	case errors.Is(err, io.EOF): // a read that found nothing
		c.client.SetTrailer(stream.Trailer())
		return false, nil
	}
	lost := status.Code(err) == codes.Unavailable && len(stream.Trailer()) == 0
	if !lost {
		c.client.SetTrailer(stream.Trailer())
	}
	return lost && c.reads, c.about(addr, err)
}

// about names the server in an error that may be about the connection to it.
func (c *call) about(addr string, err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	s := status.Convert(err).Proto()
	s.Message = addr + ", for " + c.place.resource.Name + ": " + s.GetMessage()
	return status.ErrorProto(s)
}

var (
	errMoved = status.Error(codes.Unavailable, "another server leads the instance now; continue with the last token")
	errLate  = status.Error(codes.Unavailable, "another server leads the instance now, and the one before has not answered; the call may have had an effect there")
	errStops = status.Error(codes.Unavailable, "the router is stopping; continue with the last token")
)

// untilMoved ends a call for the server that leads when another one leads. A stream of
// changes ends at once, since the old leader would wait for further ones in vain, and so
// does a read whose first rows have not come. A write may be answered for a second longer:
// a server that hands over ends its calls. A stream of changes ends too when the router
// stops, since it would last as long as its client. It is given the place, since the call
// may have found another one when it begins.
func (c *call) untilMoved(ctx context.Context, addr string, p place, end context.CancelCauseFunc) {
	var closing <-chan struct{}
	if c.stream {
		closing = c.closing.Done()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		case <-p.moved:
		case <-closing:
			end(errStops)
			return
		}
		var err error
		if p, err = c.find(p.resource.Name); err == nil && (p.leader == addr || p.leader == "" && !c.stream) {
			continue
		}
		switch {
		case c.stream:
			end(errMoved)
		case !c.reads:
			select {
			case <-ctx.Done():
			case <-time.After(lateWrite):
				end(errLate)
			}
		case !c.begun.Load():
			end(errMoved)
		}
		return
	}
}

// answer passes the answer of a server on to the client.
func (c *call) answer(from grpc.ClientStream, header metadata.MD) error {
	for _, name := range hop {
		delete(header, name)
	}
	for {
		f := new(frame)
		err := from.RecvMsg(f)
		if !c.begun.Load() && (err == nil || errors.Is(err, io.EOF)) {
			if err := c.client.SetHeader(header); err != nil {
				f.data.Free()
				return err
			}
		}
		if err != nil {
			c.client.SetTrailer(from.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := c.hold.Message(f.data.Len()); err != nil {
			f.data.Free()
			return err
		}
		if err := c.send(from.Context(), f); err != nil {
			return err
		}
	}
}

// freeToSend is how many bytes of a stream gRPC queues before the next send blocks.
const freeToSend = 64 << 10

// send sends a message to the client, which must take it within a time. Beyond the first
// few, another goroutine sends it, so that the call can end while gRPC waits for the
// client.
func (c *call) send(ctx context.Context, f *frame) error {
	c.begun.Store(true)
	n, before := f.data.Len(), c.sent
	c.links.Queue(int64(n))
	if c.sent += n; before < freeToSend {
		defer f.data.Free()
		c.first += int64(n)
		return c.client.SendMsg(f)
	}
	done := make(chan error, 1)
	go func() {
		defer c.links.Queue(-int64(n))
		defer f.data.Free()
		done <- c.client.SendMsg(f)
	}()
	late := time.NewTimer(c.o.Limits.SendTimeout)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-late.C:
		c.links.Stalled()
		return status.Errorf(codes.Unavailable, "the client has not read for %v; it may continue after the last row that it has", c.o.Limits.SendTimeout)
	}
}

// end releases the call's resources.
func (c *call) end() {
	c.links.Queue(-c.first)
	c.hold.Release()
	c.request.data.Free()
}
