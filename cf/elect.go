package cf

import "context"

// An Elector is a [Store] that lets one of the processes that have it open do a job.
type Elector interface {
	// Lead makes the caller the leader of a job. Jobs are named; each is led by one
	// caller at a time. While another one leads, the error is [ErrBusy]: Lead does not
	// wait.
	//
	// The context that Lead returns ends when ctx does, and when another caller may have
	// become the leader: the store could not be reached for a minute, for example. A
	// process that is paused learns of it late, so two may do the job for a moment. The
	// caller calls resign when it is done; resign can be called twice.
	Lead(ctx context.Context, job string) (leading context.Context, resign func(), err error)
}
