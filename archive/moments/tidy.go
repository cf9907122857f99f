package moments

import (
	"context"
	"time"
)

// tidyEvery is how often a sender merges and removes segments.
const tidyEvery = time.Minute

func (n *session) tidy(context.Context) {}
