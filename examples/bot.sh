#!/bin/sh
# Plays the smallest block that may be placed.
while read -r line; do
    legal=${line#*'"legal":['}
    echo "${legal%%[],]*}"
done
