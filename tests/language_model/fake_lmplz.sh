#!/bin/sh
echo "$@" > {arguments}
while [ $# -gt 0 ]; do
  case "$1" in
    --text) cp "$2" {text} ;;
    --arpa) cp {arpa} "$2" ;;
  esac
  shift
done
exit {status}
