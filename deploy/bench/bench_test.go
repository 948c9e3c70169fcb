package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets this test binary be a child, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childCommand {
		if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestBench(t *testing.T) {
	g, err := openGround(t.Context())
	require.NoError(t, err)
	defer g.Close()
	t.Run("worker: every row stores its orders", func(t *testing.T) { testWorker(t, g) })
	t.Run("drain: the worker's memory is found", func(t *testing.T) { testDrain(t, g) })
	t.Run("admit: every row sells its orders", func(t *testing.T) { testAdmit(t, g) })
	t.Run("cluster: every layout sells its orders", func(t *testing.T) { testCluster(t, g) })
	t.Run("an order that was not stored is an error", func(t *testing.T) { testUnstored(t, g) })
}

func testWorker(t *testing.T, g *ground) {
	found, err := benchWorker(t.Context(), g, settings{N: 2000, Rounds: 1, Profile: t.TempDir()}, io.Discard)
	require.NoError(t, err)
	require.Len(t, found.Rows, 4)
	for _, r := range found.Rows {
		require.Positive(t, r.PerSecond, r.Name)
		require.Positive(t, r.CPU, r.Name)
		require.Positive(t, r.PeakMB, r.Name)
	}
	require.Positive(t, found.BareRedis)
}

func testDrain(t *testing.T, g *ground) {
	found, err := benchDrain(t.Context(), g, settings{N: 2000}, io.Discard)
	require.NoError(t, err)
	require.Positive(t, found.Rows[0].PeakMB)
}

func testCluster(t *testing.T, g *ground) {
	found, err := benchCluster(t.Context(), g, settings{N: 480, Rounds: 1}, io.Discard)
	require.NoError(t, err)
	require.Len(t, found.Layouts, 4)
	for _, s := range found.Layouts {
		require.Positive(t, s.Accepted, s.Name)
		require.Positive(t, s.Busiest, s.Name)
		require.GreaterOrEqual(t, s.RedisCPU, s.Busiest, s.Name)
		require.Positive(t, s.Depth, s.Name)
	}
	var out strings.Builder
	require.NoError(t, printReport(&out, found))
	require.Contains(t, out.String(), "cluster, three masters")
}

func testUnstored(t *testing.T, g *ground) {
	s, err := g.newStage(t.Context(), 10)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, g.bare.fill(t.Context(), s.sale))
	require.ErrorContains(t, s.check(t.Context(), true), "10 orders, and the database has")
}

func TestPublishHoldsAReportToItsGoals(t *testing.T) {
	missed := report{Title: "A title", Rows: []row{{Name: "a row"}}, Goals: []goal{{Text: "a goal", Found: 0.4}}}
	path := filepath.Join(t.TempDir(), "deep", "bench.json")
	var out strings.Builder

	require.NoError(t, publish(missed, settings{}, &out, path))
	require.Contains(t, out.String(), "MISSED: a goal: 0.40")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var read report
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, missed.Goals, read.Goals)

	require.EqualError(t, publish(missed, settings{Check: true}, &out, path), "a goal is missed")
}

func TestMediansTakeTheMiddleOfEachFigure(t *testing.T) {
	runs := []figures{{PerSecond: 9, CPU: 1}, {PerSecond: 1, CPU: 2}, {PerSecond: 5, CPU: 90}}
	require.Equal(t, figures{PerSecond: 5, CPU: 2}, medians(runs))
}
