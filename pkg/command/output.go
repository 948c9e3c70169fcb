package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Format is how a command writes its results.
type Format string

// The formats.
const (
	Text Format = "text" // for people; it may change
	JSON Format = "json" // one object a line, and nothing else; its fields stay
)

// OutputFlag gives a command the flag -o and returns what it will say.
func OutputFlag(cmd *cobra.Command) *Format {
	f := Text
	cmd.Flags().VarP(&f, "output", "o", "text, or json: one object a line and nothing else")
	Complete(cmd, "output", string(Text), string(JSON))
	return &f
}

// String is the name of the format.
func (f *Format) String() string { return string(*f) }

// Set takes a format by its name.
func (f *Format) Set(name string) error {
	switch got := Format(name); got {
	case Text, JSON:
		*f = got
		return nil
	default:
		return fmt.Errorf("it may be %s or %s", Text, JSON)
	}
}

// Type is what the help calls a value.
func (f *Format) Type() string { return "format" }

// Write writes one result: v as JSON, or text. No text is no line.
func (f *Format) Write(out io.Writer, v any, text string) error {
	if *f == JSON {
		return json.NewEncoder(out).Encode(v)
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// Complete offers values for a flag in the shell.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is there, once
	}
}
