// Holds nothing: the targets of precompiled.cmake need a source.
