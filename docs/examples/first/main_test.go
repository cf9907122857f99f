package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The program runs twice on one directory: the second run finds the data of the first.
func Example() {
	parent, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	for range 2 {
		if err := run(context.Background(), filepath.Join(parent, "fleet-data")); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// flight#TF-FIR#2024-01-25 was 7 minutes late
	// flight#TF-FIR#2024-01-26 was 180 minutes late
	// landings: 1
	// flight#TF-FIR#2024-01-25 was 7 minutes late
	// flight#TF-FIR#2024-01-26 was 180 minutes late
	// landings: 2
}
