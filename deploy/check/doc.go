// Package check holds what is deployed to what the programs are: its tests read the image's
// build file, compose and Kubernetes manifests as their own tools do, and compare them with the
// settings, limits and addresses in the code. It is a module of its own, so that those tools are
// no dependencies of the programs.
package check
