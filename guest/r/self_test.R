# That it starts and runs a program, and which one it is.
stopifnot(sum(1:10) == 55, nchar(Sys.getenv("HOME")) > 0)
cat(paste(R.version$major, R.version$minor, sep = "."), "\n")
