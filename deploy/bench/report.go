package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// row is one way of doing the work, and what it took.
type row struct {
	Name   string `json:"name"`
	Orders int    `json:"orders"` // of each round
	figures

	role      string
	processes int
}

// figures are what one run of a row took.
type figures struct {
	PerSecond float64 `json:"ordersPerSecond"`
	CPU       float64 `json:"cpuMicros"`      // of our processes, for each order
	RedisCPU  float64 `json:"redisCPUMicros"` // of the Redis server, for each order
	PeakMB    float64 `json:"peakMB"`         // resident, of the largest process
}

// goal is what a report is held to.
type goal struct {
	Text  string  `json:"goal"`
	Found float64 `json:"found"`
	Met   bool    `json:"met"`
}

// report is what a benchmark found.
type report struct {
	Title     string   `json:"title"`
	Rows      []row    `json:"rows,omitempty"`
	Ways      []line   `json:"ways,omitempty"`               // of selling
	BareRedis float64  `json:"bareRedisCPUMicros,omitempty"` // what Redis takes for the same commands, bare
	Layouts   []spread `json:"layouts,omitempty"`            // of Redis
	Goals     []goal   `json:"goals"`
}

// median is the middle figure: one slow round does not count.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func medians(runs []figures) figures {
	of := func(pick func(figures) float64) float64 {
		all := make([]float64, len(runs))
		for i, f := range runs {
			all[i] = pick(f)
		}
		return median(all)
	}
	return figures{
		PerSecond: of(func(f figures) float64 { return f.PerSecond }),
		CPU:       of(func(f figures) float64 { return f.CPU }),
		RedisCPU:  of(func(f figures) float64 { return f.RedisCPU }),
		PeakMB:    of(func(f figures) float64 { return f.PeakMB }),
	}
}

// publish prints a report, writes it to a file, and holds it to its goals if it is to.
func publish(r report, set settings, out io.Writer, path string) error {
	if err := errors.Join(printReport(out, r), writeJSON(path, r)); err != nil {
		return err
	}
	missed := slices.ContainsFunc(r.Goals, func(g goal) bool { return !g.Met })
	if missed && set.Check {
		return errors.New("a goal is missed")
	}
	return nil
}

func printReport(out io.Writer, r report) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "\n%s\n\n", r.Title)
	switch {
	case len(r.Ways) > 0:
		printWays(tab, r.Ways)
	case len(r.Layouts) > 0:
		printLayouts(tab, r.Layouts)
	default:
		printRows(tab, r.Rows)
	}
	if r.BareRedis > 0 {
		fmt.Fprintf(tab, "Redis: the bare commands in a pipeline\t\t\t\t%.1f\t\n", r.BareRedis)
	}
	fmt.Fprint(tab, "\n")
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "MISSED"
		}
		fmt.Fprintf(tab, "%s: %s: %.2f\n", verdict, g.Text, g.Found)
	}
	return tab.Flush()
}

func printRows(tab io.Writer, rows []row) {
	fmt.Fprint(tab, "\torders\torders/s\tour CPU µs\tRedis CPU µs\tpeak MB\n")
	for _, row := range rows {
		fmt.Fprintf(tab, "%s\t%d\t%.0f\t%.1f\t%.1f\t%.0f\n", row.Name, row.Orders, row.PerSecond, row.CPU, row.RedisCPU, row.PeakMB)
	}
}

func writeJSON(path string, r report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
