package route

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/smolwcpb"
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
	first   int64 // bytes of the first messages, which gRPC may have until the end
}

// handle passes a call on. Each method has one message as its request.
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
	if c.place, err = r.find(instance); err != nil {
		return err
	}
	servers, err := c.servers()
	if err != nil {
		return err
	}
	return c.run(ctx, servers)
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

// servers are those to ask, one after the other until one can be reached.
func (c *call) servers() ([]string, error) {
	reads := c.o.Reads
	for _, text := range c.md.Get(wire.ReadsHeader) {
		var err error
		if reads, err = ParseReads(text); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the header %s: %v", wire.ReadsHeader, err)
		}
	}
	if c.leader = !c.reads || reads == ReadsLeader; c.leader {
		return []string{c.place.leader}, nil
	}
	var up []string
	for _, addr := range c.readers(c.place) {
		if !c.links.down(addr) {
			up = append(up, addr)
		}
	}
	if len(up) == 0 {
		up = []string{c.place.leader}
	}
	return up, nil
}

// run asks the servers. If the one that should lead names another one, it asks that one,
// once.
func (c *call) run(ctx context.Context, servers []string) error {
	for i, addr := range servers {
		next, again, err := c.ask(ctx, addr, c.leader)
		if next != "" {
			_, _, err = c.ask(ctx, next, false)
			return err
		}
		if !again || i == len(servers)-1 {
			return err
		}
	}
	return nil
}

// hop are headers that gRPC makes anew for each connection.
var hop = []string{":authority", "content-type", "user-agent", "te", "grpc-accept-encoding", wire.ReadsHeader}

// ask passes the call on to a server. next is the server that leads instead, if follow
// permits to ask it; again is set if the server could not be reached. In both cases the
// client was sent nothing.
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
	if err := stream.SendMsg(&c.request); err != nil && !errors.Is(err, io.EOF) {
		return "", false, err
	}
	header, err := stream.Header()
	if err != nil || header == nil {
		return c.refused(addr, stream)
	}
	if says := header.Get(wire.LeaderHeader); follow && len(says) > 0 && says[0] != "" && says[0] != addr && c.learn(c.place, addr, says[0]) {
		return says[0], false, nil
	}
	if c.stream {
		go c.untilMoved(ctx, addr, cancel)
	}
	err = c.answer(stream, header)
	if cause := context.Cause(ctx); errors.Is(cause, errMoved) || errors.Is(cause, errStops) {
		err = cause
	}
	return "", false, err
}

// refused is the outcome of a call that ends without headers: its server has refused it, or
// cannot be reached.
func (c *call) refused(addr string, stream grpc.ClientStream) (next string, again bool, err error) {
	var none frame
	if err = stream.RecvMsg(&none); err == nil || errors.Is(err, io.EOF) {
		none.data.Free()
		return "", false, status.Errorf(codes.Internal, "%s answers without headers", addr)
	}
	c.client.SetTrailer(stream.Trailer())
	return "", status.Code(err) == codes.Unavailable && len(stream.Trailer()) == 0, c.about(addr, err)
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
	errStops = status.Error(codes.Unavailable, "the router is stopping; continue with the last token")
)

// untilMoved ends a call when another server leads its instance: a server that was
// replaced has no further changes, and would wait for them. It ends the call too when the
// router stops, since the call would last as long as its client.
func (c *call) untilMoved(ctx context.Context, addr string, end context.CancelCauseFunc) {
	for p := c.place; ; {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		case <-p.moved:
		case <-c.closing.Done():
			end(errStops)
			return
		}
		var err error
		if p, err = c.find(c.place.resource.Name); err != nil || p.leader != addr {
			end(errMoved)
			return
		}
	}
}

// answer passes the answer of a server on to the client.
func (c *call) answer(from grpc.ClientStream, header metadata.MD) error {
	for _, name := range hop {
		delete(header, name)
	}
	if err := c.client.SetHeader(header); err != nil {
		return err
	}
	for {
		f := new(frame)
		if err := from.RecvMsg(f); err != nil {
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

// freeToSend is how many bytes of a stream gRPC queues before the sender of a further
// message has to wait.
const freeToSend = 64 << 10

// send sends a message to the client, which has to take it within a time. Beyond the first
// few, another goroutine sends it, so that the call can end while gRPC waits for the
// client.
func (c *call) send(ctx context.Context, f *frame) error {
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

// end gives back what the call holds.
func (c *call) end() {
	c.links.Queue(-c.first)
	c.hold.Release()
	c.request.data.Free()
}
