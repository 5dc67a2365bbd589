"""What is known of Dynamo beyond its log lines: frames, causes of recompiles and of breaks."""
