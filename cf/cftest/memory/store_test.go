package memory_test

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/cftest/memory"
)

func TestStore(t *testing.T) {
	cftest.Run(t, func(*testing.T) cftest.Harness {
		return cftest.Harness{
			Store:  memory.New(),
			Reopen: func(closed cf.Store) cf.Store { return memory.Again(closed.(*memory.Store)) },
		}
	})
}
