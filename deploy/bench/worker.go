package main

import (
	"context"
	"fmt"
	"io"
)

// The rows of `bench worker`.
const (
	rowSingle = "one message, one transaction, one consumer"
	rowOne    = "ours, one worker"
	rowTwo    = "ours, two workers"
	rowLimit  = "the limit: same rows, same batches, SQL alone"
)

// What `bench worker` is held to.
const (
	overSingle = 30.0 // times one message, one transaction
	ofLimit    = 0.5  // of the limit
	ofLimitAim = 0.7
)

// benchWorker stores the same orders in four ways, each once in every round, so that a
// machine that drifts drifts under all of them.
func benchWorker(ctx context.Context, g *ground, set settings, progress io.Writer) (found report, err error) {
	if set.N == 0 {
		set.N = 50_000
	}
	rows := []row{
		{Name: rowSingle, role: roleSingle, processes: 1, Orders: max(1, set.N/25)}, // it is slow, and steady
		{Name: rowOne, role: roleWorker, processes: 1, Orders: set.N},
		{Name: rowTwo, role: roleWorker, processes: 2, Orders: set.N},
		{Name: rowLimit, role: roleLimit, processes: 1, Orders: set.N},
	}
	runs := make([][]figures, len(rows))
	var bare []float64
	for round := range set.Rounds {
		for i, r := range rows {
			fmt.Fprintf(progress, "round %d of %d: %s, %d orders\n", round+1, set.Rounds, r.Name, r.Orders)
			f, err := g.measure(ctx, r, set.Profile)
			if err != nil {
				return found, fmt.Errorf("%s: %w", r.Name, err)
			}
			fmt.Fprintf(progress, "  %.0f orders/s; every order stored once, stock right, nothing waiting, nothing pending\n", f.PerSecond)
			runs[i] = append(runs[i], f)
		}
		cost, err := g.bareCost(ctx, set.N)
		if err != nil {
			return found, fmt.Errorf("bare commands: %w", err)
		}
		bare = append(bare, cost)
	}
	for i := range rows {
		rows[i].figures = medians(runs[i])
	}
	return report{
		Title: fmt.Sprintf("Storing accepted orders: medians of %d rounds", set.Rounds),
		Rows:  rows, BareRedis: median(bare), Goals: workerGoals(rows, runs),
	}, nil
}

// workerGoals compares rows within each round, where the machine was about the same.
func workerGoals(rows []row, runs [][]figures) []goal {
	by := make(map[string][]figures, len(rows))
	for i, r := range rows {
		by[r.Name] = runs[i]
	}
	ratio := func(a, b string) float64 {
		ratios := make([]float64, len(by[a]))
		for i := range ratios {
			ratios[i] = by[a][i].PerSecond / by[b][i].PerSecond
		}
		return median(ratios)
	}
	toSingle, toLimit := ratio(rowOne, rowSingle), ratio(rowOne, rowLimit)
	return []goal{
		{Text: fmt.Sprintf("one worker is at least %.0f times one message, one transaction", overSingle), Found: toSingle, Met: toSingle >= overSingle},
		{Text: fmt.Sprintf("one worker is at least %.1f of the limit (aim: %.1f)", ofLimit, ofLimitAim), Found: toLimit, Met: toLimit >= ofLimit},
	}
}
